package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/modellog/modellog/kernel"
	"github.com/modellog/modellog/kernel/install"
	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lm/store"
)

type kernelCmd struct {
	Install   kernelInstallCmd   `cmd:"" help:"Make Jupyter know the kernel, and build what Go cells need."`
	Uninstall kernelUninstallCmd `cmd:"" help:"Remove what install has made."`
	Run       kernelRunCmd       `cmd:"" help:"Be the kernel; Jupyter calls this."`
}

// kernelPlace is where a kernelspec goes.
type kernelPlace struct {
	User   bool   `xor:"place" help:"For this user, which is the default."`
	Prefix string `xor:"place" placeholder:"P" type:"path" help:"For the Jupyter under this prefix, such as a virtual environment's folder."`
}

type kernelInstallCmd struct {
	kernelPlace
	Source string `placeholder:"DIR" type:"existingdir" help:"Root of modellog's source, for the helpers in Go cells. Found by itself in most cases."`
}

func (c *kernelInstallCmd) Run(ctx context.Context, std streams) error {
	data, err := store.DataDir()
	if err != nil {
		return err
	}
	command, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	r, err := install.Install(ctx, install.Options{
		Data: data, Command: command, Prefix: c.Prefix, Source: c.Source, Version: programVersion(), Progress: std.err,
	})
	if err != nil {
		return err
	}
	if r.Without != nil {
		fmt.Fprintf(std.err, "warning: %v\n", r.Without)
	}
	fmt.Fprintf(std.out, "The kernel is installed in %s\n", r.Spec)
	return nil
}

type kernelUninstallCmd struct {
	kernelPlace
	All bool `xor:"place" help:"All that were installed."`
}

func (c *kernelUninstallCmd) Run(std streams) error {
	data, err := store.DataDir()
	if err != nil {
		return err
	}
	removed, err := install.Uninstall(data, c.Prefix, c.All)
	for _, dir := range removed {
		fmt.Fprintf(std.out, "Removed %s\n", dir)
	}
	if err == nil && len(removed) == 0 {
		return errors.New("the kernel is not installed there; modellog doctor tells where it is")
	}
	return err
}

type kernelRunCmd struct {
	modelFlags
	ConnectionFile string `arg:"" help:"The file that Jupyter has written."`
}

// kernelID takes Jupyter's id of a kernel from its connection file's name.
var kernelID = regexp.MustCompile(`^kernel-([0-9a-f-]+)\.json$`)

func (c *kernelRunCmd) Run(ctx context.Context, std streams) error {
	connection, err := wire.ReadConnection(c.ConnectionFile)
	if err != nil {
		return err
	}
	data, err := store.DataDir()
	if err != nil {
		return err
	}
	addGoToPath()
	o := kernel.Options{Connection: connection, Version: programVersion(), Log: std.err,
		Go: kernel.GoOptions{ToolsDir: install.ToolsDir(data)}}
	if m := kernelID.FindStringSubmatch(filepath.Base(c.ConnectionFile)); m != nil {
		o.ID = m[1]
	}
	if dir := install.ModuleDir(data); exists(filepath.Join(dir, "go.mod")) {
		o.Go.Work = []string{dir}
	}
	if os.Getenv("MODELLOG_DEBUG") != "" {
		o.Go.Log = os.Stderr
	}
	k, err := kernel.New(o)
	if err != nil {
		return err
	}
	// SIGINT is for the cell that runs; the kernel handles the others itself, too.
	ctx = context.WithoutCancel(ctx)
	s, err := c.modelFlags.start(ctx, c.Model, reporter{k.Progress, k.ProgressBytes}, k.Warn) // all are shown in the cells
	if err != nil {
		return err
	}
	return errors.Join(k.Run(ctx, s.session), s.close())
}

// addGoToPath makes the go that was there at the installation known where
// Jupyter's PATH has none.
func addGoToPath() {
	if _, err := exec.LookPath("go"); err == nil {
		return
	}
	if goCommand := os.Getenv(install.GoVariable); goCommand != "" {
		os.Setenv("PATH", os.Getenv("PATH")+string(filepath.ListSeparator)+filepath.Dir(goCommand))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
