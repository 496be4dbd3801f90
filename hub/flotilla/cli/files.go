package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"flotilla/configs"
	"flotilla/core/api"
)

// source says where documents come from.
type source struct {
	files     []string
	kustomize string
	recursive bool
}

func (s *source) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&s.files, "filename", "f", nil, "file or folder of YAML or JSON; - is standard input")
	flags.StringVarP(&s.kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.BoolVarP(&s.recursive, "recursive", "R", false, "folders inside folders too")
}

func (s *source) empty() bool { return len(s.files) == 0 && s.kustomize == "" }

// nextWith names the command to type next about the same files.
func (a *app) nextWith(s *source, verb string) {
	if command := s.command(verb); command != "" {
		a.next("%s", command)
	}
}

// command is a command about the same files; nothing where standard input is one of them, which cannot
// be read again.
func (s *source) command(verb string) string {
	parts := []string{"flotilla", verb}
	for _, file := range s.files {
		if file == "-" {
			return ""
		}
		parts = append(parts, "-f", file)
	}
	if s.kustomize != "" {
		parts = append(parts, "-k", s.kustomize)
	}
	return strings.Join(parts, " ")
}

// read reads every document of the source and gives objects of namespaced kinds the namespace of -n.
func (a *app) read(s *source) ([]document, error) {
	found, err := a.readAll(s)
	if err != nil {
		return nil, err
	}
	documents := make([]document, 0, len(found))
	for i := range found {
		d, err := a.documentOf(&found[i])
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	return documents, nil
}

func (a *app) readAll(s *source) ([]configs.Document, error) {
	if s.empty() {
		return nil, usagef("name files with -f, or a kustomization with -k")
	}
	found, err := configs.Read(a.In, s.recursive, s.files...)
	if err == nil && s.kustomize != "" {
		var text []byte
		if text, err = buildKustomization(s.kustomize); err == nil {
			var more []configs.Document
			more, err = configs.Parse(s.kustomize, text)
			found = append(found, more...)
		}
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if len(found) == 0 {
		return nil, usagef("the files hold no document")
	}
	return found, nil
}

// unreadable lists every problem of the files as a fault.
func unreadable(err error) error {
	problems, ok := errors.AsType[configs.Problems](err)
	if !ok {
		return &Failure{Code: ExitRefused, Message: err.Error()}
	}
	lines := []string{"the files cannot be read:"}
	code := ExitUsage
	for i := range problems {
		lines = append(lines, problems[i].Error())
		if problems[i].Index > 0 || problems[i].Line > 0 {
			code = ExitRefused // what is in a file, and not its name
		}
	}
	return &Failure{Code: code, Message: strings.Join(lines, "\n  ")}
}

func (a *app) documentOf(d *configs.Document) (document, error) {
	doc := document{body: d.JSON, origin: d.Where(), ref: headOf(d.JSON)}
	if a.namespace == "" || !isNamespaced(doc.ref) {
		return doc, nil
	}
	if doc.ref.Namespace != "" && doc.ref.Namespace != a.namespace {
		return doc, refusedf("%s: found namespace %q, expected %q as -n says", doc.origin, doc.ref.Namespace, a.namespace)
	}
	body, err := inNamespace(d.JSON, a.namespace)
	if err != nil {
		return doc, fmt.Errorf("putting %s into namespace %s: %w", doc.origin, a.namespace, err)
	}
	doc.body, doc.ref.Namespace = body, a.namespace
	return doc, nil
}

// inNamespace gives an object a namespace and leaves all else as it was written, digits of numbers
// included. Metadata that is no map stays, for the hub to find fault with.
func inNamespace(body json.RawMessage, namespace string) (json.RawMessage, error) {
	var object, metadata map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if raw, given := object["metadata"]; given && json.Unmarshal(raw, &metadata) != nil {
		return body, nil
	}
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	name, err := json.Marshal(namespace)
	if err != nil {
		return nil, err
	}
	metadata["namespace"] = name
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// headOf reads what a document calls itself.
func headOf(body json.RawMessage) api.ObjectRef {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if json.Unmarshal(body, &head) != nil {
		return api.ObjectRef{}
	}
	return api.ObjectRef{APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}
}

func isNamespaced(o api.ObjectRef) bool {
	if o.Kind == api.KindResourcePlacement {
		return true
	}
	inside, known := api.KindNamespaced(groupOf(o.APIVersion), o.Kind)
	return known && inside
}
