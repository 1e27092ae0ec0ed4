package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names of the series about builds: size, packages, and the time with an empty cache.
const (
	nameEmbed    = "examples/embed"
	nameStripped = "patchbay, stripped"
	nameProgram  = "cmd/patchbay"
)

// modulePath begins the names of our own packages.
const modulePath = "github.com/patchbay-dev/patchbay"

// trees returns the source trees that are built: this one, and an older one if it is named.
func (e effort) trees() []*side {
	all := []*side{{home: e.source}}
	if e.oldSource != "" {
		all = append(all, &side{prefix: oldPrefix, home: e.oldSource})
	}
	return all
}

// ofTrees measures one number for each of the names, in each tree.
func (e effort) ofTrees(names []string, measure func(tree, name string) (float64, error)) (out []Series, err error) {
	for _, name := range names {
		for _, t := range e.trees() {
			value, err := measure(t.home, name)
			switch {
			case errors.Is(err, errSkip):
				out = append(out, Series{Name: t.prefix + name, Skip: err.Error()})
			case err != nil:
				return nil, err
			default:
				out = append(out, Series{Name: t.prefix + name, Rounds: [][]float64{{value}}})
			}
		}
	}
	return out, nil
}

// buildOf returns the arguments with which the go command builds the program of a series.
func buildOf(name string) []string {
	switch name {
	case nameEmbed:
		return []string{"build", "-o", os.DevNull, "./examples/embed"}
	case nameStripped:
		return []string{"build", "-trimpath", "-ldflags=-s -w", "-o", os.DevNull, "./cmd/patchbay"}
	}
	return []string{"build", "-o", os.DevNull, "./" + name}
}

// checkTree returns an error that wraps errSkip if a tree does not have the sources of a program.
func checkTree(tree, name string) error {
	dir := filepath.Join(tree, "cmd", "patchbay")
	if name == nameEmbed {
		dir = filepath.Join(tree, "examples", "embed")
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w: %w: name the source tree with --source or --old-source", errSkip, err)
	}
	return nil
}

// measureSize builds programs as their users would, and returns their size in megabytes.
func measureSize(ctx context.Context, e effort) ([]Series, error) {
	dir, err := os.MkdirTemp("", "bench-size-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return e.ofTrees([]string{nameEmbed, nameStripped}, func(tree, name string) (float64, error) {
		if err := checkTree(tree, name); err != nil {
			return 0, err
		}
		program := filepath.Join(dir, "program")
		args := buildOf(name)
		for i := range args {
			if args[i] == os.DevNull {
				args[i] = program
			}
		}
		if _, err := goTool(ctx, tree, nil, args...); err != nil {
			return 0, err
		}
		info, err := os.Stat(program)
		if err != nil {
			return 0, err
		}
		return float64(info.Size()) / 1e6, nil
	})
}

// measurePackages counts the packages of a program that embeds the library, without the standard
// library and Patchbay.
func measurePackages(ctx context.Context, e effort) ([]Series, error) {
	return e.ofTrees([]string{nameEmbed}, func(tree, name string) (float64, error) {
		if err := checkTree(tree, name); err != nil {
			return 0, err
		}
		list, err := goTool(ctx, tree, nil, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+name)
		if err != nil {
			return 0, err
		}
		others := 0
		for _, path := range strings.Fields(list) {
			if path != modulePath && !strings.HasPrefix(path, modulePath+"/") {
				others++
			}
		}
		return float64(others), nil
	})
}

// measureCold builds each program once with an empty cache, and returns seconds. The modules are
// already downloaded.
func measureCold(ctx context.Context, e effort) ([]Series, error) {
	return e.ofTrees([]string{nameProgram, nameEmbed}, func(tree, name string) (seconds float64, err error) {
		if err := checkTree(tree, name); err != nil {
			return 0, err
		}
		if _, err := goTool(ctx, tree, nil, "mod", "download"); err != nil {
			return 0, err
		}
		cache, err := os.MkdirTemp("", "bench-gocache-")
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(cache)) }()
		took, err := stopwatch(func() error {
			_, err := goTool(ctx, tree, []string{"GOCACHE=" + cache}, buildOf(name)...)
			return err
		})
		return took.Round(100 * time.Millisecond).Seconds(), err
	})
}
