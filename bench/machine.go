package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine describes the machine on which the sections were measured.
type Machine struct {
	CPU    string   `json:"cpu"`
	Cores  int      `json:"cores"`
	Kernel string   `json:"kernel"`
	Go     string   `json:"go"`
	Peers  []string `json:"peers"` // module versions of the peers
}

// thisMachine describes this machine.
func thisMachine() Machine {
	return Machine{
		CPU:    cpuModel(),
		Cores:  runtime.NumCPU(),
		Kernel: runtime.GOOS + "/" + runtime.GOARCH + " " + firstLine("/proc/sys/kernel/osrelease"),
		Go:     runtime.Version(),
		Peers:  peerVersions(),
	}
}

// String returns the machine in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s; %s", m.CPU, m.Cores, strings.TrimSpace(m.Kernel), m.Go, strings.Join(m.Peers, ", "))
}

// cpuModel returns the processor's name from /proc/cpuinfo.
func cpuModel() string {
	info, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer info.Close()
	for lines := bufio.NewScanner(info); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return "unknown processor"
}

// firstLine returns the first line of a file, or an empty string if there is none.
func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// peerVersions lists the versions of the peers' modules in this program.
func peerVersions() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	names := map[string]string{
		"github.com/hashicorp/go-plugin":         "go-plugin",
		"google.golang.org/grpc":                 "grpc",
		"github.com/creachadair/jrpc2":           "jrpc2",
		"github.com/modelcontextprotocol/go-sdk": "MCP Go SDK",
	}
	var versions []string
	for _, m := range info.Deps {
		if name, ok := names[m.Path]; ok {
			versions = append(versions, name+" "+m.Version)
		}
	}
	return versions
}
