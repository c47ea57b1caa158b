package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lm/store"
)

type dataCmd struct {
	List dataListCmd `cmd:"" default:"1" help:"List the data that the evaluations are built from."`
	Get  dataGetCmd  `cmd:"" help:"Fetch some of them."`
}

type dataListCmd struct {
	JSON bool `help:"Print each dataset as a JSON object on a line of its own."`
}

func (c *dataListCmd) Run(std streams) error {
	s, err := openStore(func(message string) { fmt.Fprintf(std.err, "warning: %s\n", message) })
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 3, ' ', 0)
	encoder := json.NewEncoder(std.out)
	encoder.SetEscapeHTML(false)
	if !c.JSON {
		fmt.Fprintln(w, "NAME\tWHAT\tLICENCE\tWHERE")
	}
	for _, d := range store.Datasets() {
		where, path, get := "", "", ""
		if s.HasDataset(d) {
			path = s.DatasetDir(d.Name)
			where = path
		} else {
			get = "modellog data get " + d.Name
			where = fmt.Sprintf("not here yet: %s (%s)", get, humanize.Bytes(uint64(d.Package.Size)))
		}
		if c.JSON {
			if err := encoder.Encode(struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Licence     string `json:"licence"`
				Source      string `json:"source"`
				Path        string `json:"path,omitempty"`
				Get         string `json:"get,omitempty"`
			}{d.Name, d.Description, d.Licence, d.Source, path, get}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Name, d.Description, d.Licence, where)
	}
	return w.Flush()
}

type dataGetCmd struct {
	Names []string `arg:"" name:"name" help:"wordnet, places or words; modellog data list says what they are."`
}

func (c *dataGetCmd) Run(ctx context.Context, std streams) error {
	s, err := openStore(func(message string) { fmt.Fprintf(std.err, "warning: %s\n", message) })
	if err != nil {
		return err
	}
	bar := progress.New(std.err)
	defer bar.Close()
	for _, name := range c.Names {
		bar.Wait("fetching " + name)
		dir, err := s.GetDataset(ctx, name, store.GetOptions{
			Progress: func(p store.Progress) {
				report := bar.ReportBytes
				if p.Stage == store.Checking {
					report = bar.Report
				}
				report(fmt.Sprintf("%s %s", p.Stage, name), int(p.Done), int(p.Total))
			},
			Notice: func(text string) {
				fmt.Fprintln(bar.Wrap(std.err), text)
			},
		})
		bar.Clear()
		if err != nil {
			return err
		}
		licence := ""
		for _, d := range store.Datasets() {
			if d.Name == name {
				licence = d.Licence
			}
		}
		if _, err := fmt.Fprintf(std.out, "%s is in %s (%s; SHA-256 checked)\n", name, dir, strings.TrimSpace(licence)); err != nil {
			return err
		}
	}
	return nil
}
