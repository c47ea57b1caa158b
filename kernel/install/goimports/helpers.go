package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// helpersPath is the import path of modellog's root package.
const helpersPath = "github.com/modellog/modellog"

// helpers are the names that the root package exports.
type helpers []string

// findHelpers reads the root package's source below one of some folders. It returns nil where modellog
// is in none of them.
func findHelpers(dirs []string) helpers {
	for _, dir := range dirs {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil || !bytes.HasPrefix(mod, []byte("module "+helpersPath+"\n")) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			continue
		}
		var names helpers
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			// What cannot be read is for the compiler to tell.
			if f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0); err == nil {
				names = append(names, exported(f)...)
			}
		}
		return names
	}
	return nil
}

// exported lists what a file declares for other packages.
func exported(f *ast.File) []string {
	var names []string
	add := func(n *ast.Ident) {
		if n.IsExported() {
			names = append(names, n.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add(n)
					}
				}
			}
		}
	}
	return names
}

// adjust adds the import of the helpers to a file, or takes it out, as the file uses them or not. A file that
// cannot be read stays as it is. Most files have nothing to look for the helpers' names for.
func adjust(name string, src []byte, find func() helpers) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return src
	}
	imported, others := false, false // by the point
	for _, s := range f.Imports {
		if s.Name == nil || s.Name.Name != "." {
			continue
		}
		if path, err := strconv.Unquote(s.Path.Value); err == nil && path == helpersPath {
			imported = true
		} else {
			others = true
		}
	}
	free := undeclared(f)
	if !imported && (len(free) == 0 || others) { // with others, a name may be one of theirs
		return src
	}
	h := find()
	if h == nil {
		return src
	}
	switch used := h.begins(free); {
	case imported && !used:
		astutil.DeleteNamedImport(fset, f, ".", helpersPath)
	case !imported && used:
		astutil.AddNamedImport(fset, f, ".", helpersPath)
	default:
		return src
	}
	var out bytes.Buffer
	if err := format.Node(&out, fset, f); err != nil {
		return src
	}
	return out.Bytes()
}

// undeclared lists the names that a file uses and that nothing in it declares, of those that begin with a capital.
func undeclared(f *ast.File) []string {
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, id := range f.Unresolved {
		add(id)
	}
	// The parser leaves out keys, which may be a struct's fields; where they are none they count.
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch lit.Type.(type) {
		case *ast.MapType, *ast.ArrayType:
		default:
			return true
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok && id.Obj == nil {
					add(id)
				}
			}
		}
		return true
	})
	return names
}

// begins reports whether one of some names is one of the helpers', or the beginning of one, which somebody may be
// about to complete. In either case it is an error without the import.
func (h helpers) begins(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return slices.ContainsFunc(h, func(name string) bool { return strings.HasPrefix(name, n) })
	})
}
