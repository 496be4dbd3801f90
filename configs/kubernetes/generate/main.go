// Command generate writes the kustomize bases of the charts anew: go generate ./configs/kubernetes.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"flotilla/configs/kubernetes"
)

func main() {
	if err := generate("kustomize"); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(folder string) error {
	files, err := kubernetes.Bases()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := write(filepath.Join(folder, name), text); err != nil {
			return err
		}
	}
	return nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
