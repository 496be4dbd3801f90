package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// settings are those of the go command that make one binary differ from another.
type settings struct {
	Module string `json:"GOMOD"` // path of the go.mod of the folder
	Go     string `json:"GOVERSION"`
	OS     string `json:"GOOS"`
	Arch   string `json:"GOARCH"`
}

func readSettings(ctx context.Context) (s settings, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "-json", "GOMOD", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return s, fmt.Errorf("asking the go command for its settings: %w", err)
	}
	return s, json.Unmarshal(out, &s)
}

// inputs is what a build depends on, and nothing else.
type inputs struct {
	digest string // of the settings, the flags, and all files that are compiled
	flags  []string
}

// kubernetes finds in a go.mod which version of Kubernetes is built.
var kubernetes = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)

func readInputs(s settings, source string) (inputs, error) {
	module, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return inputs{}, err
	}
	version := kubernetes.FindStringSubmatch(string(module))
	if version == nil {
		return inputs{}, fmt.Errorf("%s: found no version of k8s.io/kubernetes, expected a line such as k8s.io/kubernetes v1.36.3", filepath.Join(source, "go.mod"))
	}
	in := inputs{flags: buildFlags(version[1], version[2], version[3])}
	sum := sha256.New()
	sum.Write(fmt.Appendf(nil, "%s %s %s %q\n", s.Go, s.OS, s.Arch, in.flags))
	if err := sumFiles(sum, source); err != nil {
		return inputs{}, err
	}
	in.digest = hex.EncodeToString(sum.Sum(nil))
	return in, nil
}

// buildFlags are those of go build. The components say which version they are only where the linker tells them.
func buildFlags(version, major, minor string) []string {
	const says = "-X k8s.io/component-base/version."
	linked := strings.Join([]string{"-s -w", says + "gitVersion=" + version, says + "gitMajor=" + major, says + "gitMinor=" + minor}, " ")
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=" + linked}
}

func sumFiles(sum hash.Hash, source string) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !compiled(entry.Name()) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		sum.Write(fmt.Appendf(nil, "%s %d\n%s", filepath.ToSlash(relative), len(content), content))
		return nil
	})
}

func compiled(name string) bool {
	return name == "go.mod" || name == "go.sum" || strings.HasSuffix(name, ".go")
}
