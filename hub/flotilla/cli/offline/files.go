package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// Source says where documents come from.
type Source struct {
	Files     []string
	kustomize string
	recursive bool
}

// AddFlags adds -f, -k and -R.
func (s *Source) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&s.Files, "filename", "f", nil, "file or folder of YAML or JSON; - is standard input")
	flags.StringVarP(&s.kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.BoolVarP(&s.recursive, "recursive", "R", false, "folders inside folders too")
}

// Empty says that no files were named.
func (s *Source) Empty() bool { return len(s.Files) == 0 && s.kustomize == "" }

// Next names the command to type next about the same files.
func (s *Source) Next(a *resource.Client, verb string) {
	if command := s.Command(verb); command != "" {
		a.Next("%s", command)
	}
}

// Command is a command about the same files; nothing where standard input is one of them, which cannot
// be read again.
func (s *Source) Command(verb string) string {
	parts := []string{"flotilla", verb}
	for _, file := range s.Files {
		if file == "-" {
			return ""
		}
		parts = append(parts, "-f", typable(file))
	}
	if s.kustomize != "" {
		parts = append(parts, "-k", typable(s.kustomize))
	}
	return strings.Join(parts, " ")
}

// plainWord is a word that no shell takes for anything else.
var plainWord = regexp.MustCompile(`^[\p{L}\p{N}_./:=@%+,-]+$`)

// typable is a word as it is typed into a shell, in quotes where it needs them.
func typable(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Read reads every document of the source and gives objects of namespaced kinds the namespace of -n. When
// one of them cannot be read, what is wrong with the others is told with it.
func (s *Source) Read(a *resource.Client) ([]Document, error) {
	found, problems, err := s.readAll(a)
	if err != nil {
		return nil, err
	}
	missing := unopened(problems)
	documents := make([]Document, 0, len(found))
	var faults strict.Faults
	for i := range problems {
		if problems[i].Kind != "" {
			faults = append(faults, problems[i].Fault())
		}
	}
	for i := range found {
		d, wrong, err := documentOf(&found[i], a.Namespace)
		if err != nil {
			return nil, err
		}
		faults = append(faults, wrong...)
		documents = append(documents, d)
	}
	switch {
	case len(faults) == 0 && missing == "":
		return documents, nil
	case len(faults) == 0:
		return nil, &session.Failure{Code: session.ExitUsage, Message: missing}
	}
	for i := range documents {
		_, wrong := validate.Decode(documents[i].Body)
		wrong = slices.DeleteFunc(wrong, func(f strict.Fault) bool { return f.Kind == strict.FaultDuplicate }) // those were found with the files
		faults = append(faults, documents[i].Placed(wrong)...)
	}
	f := session.FailureOf(DescribeFaults(faults, documents, s, false))
	if missing != "" {
		f.Message = missing + "\n" + f.Message
	}
	return nil, f
}

// readAll returns what could be read, with what is wrong in the rest; an error is about the files
// themselves.
func (s *Source) readAll(a *resource.Client) ([]configs.Document, configs.Problems, error) {
	if s.Empty() {
		return nil, nil, session.Usagef("name files with -f, or a kustomization with -k")
	}
	found, err := configs.Read(a.In, s.recursive, s.Files...)
	problems, _ := errors.AsType[configs.Problems](err)
	if s.kustomize != "" {
		text, err := buildKustomization(s.kustomize)
		if err != nil {
			return nil, nil, err
		}
		more, err := configs.Parse(s.kustomize, text)
		wrong, _ := errors.AsType[configs.Problems](err)
		found, problems = append(found, more...), append(problems, wrong...)
	}
	if len(found)+len(problems) == 0 {
		return nil, nil, session.Usagef("the files hold no document")
	}
	return found, problems, nil
}

// unopened lists the files that could not be opened.
func unopened(problems configs.Problems) string {
	lines := []string{"the files cannot be read:"}
	for i := range problems {
		if problems[i].Kind == "" {
			lines = append(lines, problems[i].Error())
		}
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n  ")
}

func documentOf(d *configs.Document, namespace string) (Document, strict.Faults, error) {
	doc := Document{Body: d.JSON, File: *d, Ref: headOf(d.JSON)}
	if namespace == "" || !isNamespaced(doc.Ref) {
		return doc, nil, nil
	}
	if doc.Ref.Namespace != "" && doc.Ref.Namespace != namespace {
		return doc, doc.Placed(strict.Faults{{
			Kind: strict.FaultValue, Object: doc.Ref.String(), Path: "metadata.namespace",
			Found: strconv.Quote(doc.Ref.Namespace), Expected: fmt.Sprintf("%q as -n says", namespace),
		}}), nil
	}
	body, err := inNamespace(d.JSON, namespace)
	if err != nil {
		return doc, nil, fmt.Errorf("putting %s into namespace %s: %w", doc.Where(), namespace, err)
	}
	doc.Body, doc.Ref.Namespace = body, namespace
	return doc, nil, nil
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
	inside, known := api.KindNamespaced(resource.GroupOf(o.APIVersion), o.Kind)
	return known && inside
}

// Document is one document of the user's files.
type Document struct {
	Body json.RawMessage
	Ref  api.ObjectRef
	// File is the document as it stands in its file.
	File configs.Document
}

// names says whether the document is what a fault calls by this name.
func (d *Document) names(object string) bool {
	return object != "" && (d.Ref.String() == object || strings.TrimSuffix(d.Ref.Kind+"/"+d.Ref.Name, "/") == object)
}

// Where is the place of a document, its file and line.
func (d *Document) Where() string { return d.File.Where() }

// Stored names the object that the document was applied as: the hub puts what names no namespace and
// needs one into "default".
func (d *Document) Stored() resource.Ref {
	r := resource.Ref{Type: resource.KindOfObject(d.Ref.APIVersion, d.Ref.Kind), Namespace: d.Ref.Namespace, Name: d.Ref.Name}
	switch {
	case isNamespaced(d.Ref):
		r.Namespace = resource.NamespaceOr(r.Namespace)
	case r.IsKnown():
		r.Namespace = ""
	}
	return r
}
