// Package kubernetes is how agents and hubs are run on Kubernetes, and what agents may do on a management cluster of Cluster
// API: three Helm charts, and what is made of their templates,
// kustomize bases (in the folder kustomize) and the one file that `flotilla member manifest` prints. There is no second
// source, so they cannot differ.
//
// The templates use of Helm what text/template has, .Values, .Release.Namespace, toJson and sha256sum, and no more.
package kubernetes

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

//go:generate go run ./generate

// Charts are the folders of the charts.
//
//go:embed agent hub management
var charts embed.FS

// Names of the charts.
const (
	Agent      = "agent"
	Hub        = "hub"
	Management = "management"
)

// DefaultNamespace is where agents and hubs run unless somebody says otherwise.
const DefaultNamespace = "flotilla-system"

// File is one rendered template; Text is YAML of several documents, possibly of none.
type File struct {
	Name, Text string
}

// Render renders a chart as Helm would for a release in a namespace. Values are merged over those of the chart: objects
// by their fields, all else whole.
func Render(chart, namespace string, values map[string]any) ([]File, error) {
	all, err := defaults(chart)
	if err != nil {
		return nil, err
	}
	merge(all, values)
	found, err := fs.Glob(charts, chart+"/templates/*.yaml")
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("chart %s: found no templates, expected one of %s, %s, %s", chart, Agent, Hub, Management)
	}
	given := map[string]any{"Values": all, "Release": map[string]any{"Namespace": namespace}}
	var files []File
	for _, name := range found {
		text, err := render(name, given)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: path.Base(name), Text: text})
	}
	return files, nil
}

func render(name string, given map[string]any) (string, error) {
	source, err := charts.ReadFile(name)
	if err != nil {
		return "", err
	}
	made, err := template.New(name).Option("missingkey=error").Funcs(functions).Parse(string(source))
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := made.Execute(&text, given); err != nil {
		return "", err
	}
	return strings.TrimLeft(text.String(), "\n"), nil
}

// functions are those of Helm that the templates use.
var functions = template.FuncMap{
	"toJson": func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	},
	"sha256sum": func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	},
}

func defaults(chart string) (map[string]any, error) {
	text, err := charts.ReadFile(chart + "/values.yaml")
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart, err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("chart %s: values.yaml: %w", chart, err)
	}
	return values, nil
}

// merge puts more over into, as Helm does with values.
func merge(into, more map[string]any) {
	for key, value := range maps.All(more) {
		below, isMap := value.(map[string]any)
		known, wasMap := into[key].(map[string]any)
		if isMap && wasMap {
			merge(known, below)
			continue
		}
		into[key] = value
	}
}

// Text joins files to one of several documents.
func Text(files []File) string {
	var texts []string
	for _, f := range files {
		if strings.TrimSpace(f.Text) != "" {
			texts = append(texts, f.Text)
		}
	}
	return strings.Join(texts, "---\n")
}
