package api

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Release states of a Kubernetes version in a catalog.
const (
	ReleaseGA         = "GA"
	ReleasePreview    = "Preview"
	ReleaseDeprecated = "Deprecated"
	ReleaseLTS        = "LTS"
)

// VersionCatalog lists which Kubernetes versions and node images are published in which regions. A
// fleet has at most one that counts, the one named "default"; without it versions are taken as
// available everywhere (A57, A60).
type VersionCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec VersionCatalogSpec `json:"spec"`
}

// VersionCatalogSpec is the content of a catalog.
type VersionCatalogSpec struct {
	Kubernetes []KubernetesRelease `json:"kubernetes,omitempty"`
	NodeImages []NodeImageRelease  `json:"nodeImages,omitempty"`
	// TrackerURL is printed in messages about versions that are not in a region yet (A58).
	TrackerURL string `json:"trackerURL,omitempty"`
}

// KubernetesRelease is one Kubernetes version, x.y.z.
type KubernetesRelease struct {
	Version     string      `json:"version"`
	State       string      `json:"state"`
	Regions     []string    `json:"regions,omitempty"`
	PublishedAt metav1.Time `json:"publishedAt,omitzero"`
	EndOfLife   metav1.Time `json:"endOfLife,omitzero"`
}

// NodeImageRelease is one node image; Version is without the family.
type NodeImageRelease struct {
	Family      string      `json:"family"`
	Version     string      `json:"version"`
	Regions     []string    `json:"regions,omitempty"`
	PublishedAt metav1.Time `json:"publishedAt,omitzero"`
}

// CatalogDefault is the name of the version catalog that counts.
const CatalogDefault = "default"

var nodeImagePattern = regexp.MustCompile(`^(.+)-(\d+(?:\.\d+)+)$`)

// NodeImageFamily splits a full image name into family and version. The version is the last token
// after a dash made of digits and dots.
func NodeImageFamily(image string) (family, version string, ok bool) {
	parts := nodeImagePattern.FindStringSubmatch(image)
	if parts == nil {
		return "", "", false
	}
	return parts[1], parts[2], true
}
