package offline

import (
	"os"
	"path/filepath"
	"slices"

	"flotilla/configs/files"
	"flotilla/hub/flotilla/cli/session"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// boundedDisk is the disk as a kustomization reads it: files, with a bound.
type boundedDisk struct{ filesys.FileSystem }

// ReadFile reads a file that a kustomization names.
func (boundedDisk) ReadFile(path string) ([]byte, error) {
	if err := files.CheckRegular(path); err != nil {
		return nil, err
	}
	return files.Read(path, files.Most)
}

// buildKustomization renders a folder with kustomize's library.
func buildKustomization(dir string) ([]byte, error) {
	if found, err := os.Stat(dir); err != nil || !found.IsDir() {
		return nil, session.Usagef("-k %s: found no such folder, expected one with a kustomization.yaml", dir)
	}
	if !slices.ContainsFunc(konfig.RecognizedKustomizationFileNames(), func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}) {
		return nil, session.Usagef("-k %s: found a folder without a kustomization.yaml; -f applies its files as they are", dir)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(boundedDisk{filesys.MakeFsOnDisk()}, dir)
	if err != nil {
		return nil, session.Refusedf("building the kustomization %s: %v", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, session.Refusedf("rendering the kustomization %s: %v", dir, err)
	}
	return text, nil
}
