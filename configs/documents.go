package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flotilla/configs/files"
	"flotilla/core/strict"
)

// Document is one object as it stands in a file.
type Document struct {
	// Source is the file, "-" for standard input.
	Source string
	// Index counts the documents of the source from 1; the items of a list share that of the list.
	Index int
	// Line of the source at which the document begins, from 1.
	Line int
	// JSON is the document with the digits of its numbers as written; of a key that stands there twice
	// it has the first.
	JSON json.RawMessage

	origin *origin
	// within leads from the root of the origin to the document: into the items of lists.
	within []strict.Step
}

// Problem is one thing that keeps a text from being read.
type Problem struct {
	Source string
	Position
	// Path of the field that it is about, where there is one.
	Path string
	Kind strict.FaultKind
	// Text says what was found, and Expected what would be accepted.
	Text     string
	Expected string
}

// Error is "web.yaml:14:3: …".
func (p Problem) Error() string {
	f := p.Fault()
	if p.Expected == "" {
		return f.Where() + ": " + p.Text
	}
	return f.String()
}

// Fault is the problem as a fault of a document.
func (p Problem) Fault() strict.Fault {
	return strict.Fault{Kind: p.Kind, Path: p.Path, Found: p.Text, Expected: p.Expected, File: p.Source, Line: p.Line, Column: p.Column}
}

// Problems is every problem of one reading. It is an error when it is not empty.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// extensions are the files of a folder that are read.
var extensions = []string{".yaml", ".yml", ".json"}

// Read reads the documents of files, folders and, for "-", of stdin, in the order given; the files
// of a folder come sorted by name, those of its sub-folders only when recursive. What could be read
// is returned beside the Problems of the rest.
func Read(stdin io.Reader, recursive bool, paths ...string) ([]Document, error) {
	var docs []Document
	var problems Problems
	for _, path := range paths {
		for _, source := range sources(path, recursive, &problems) {
			text, err := text(stdin, source, source == path)
			if err != nil {
				problems = append(problems, Problem{Source: source, Text: reason(err)})
				continue
			}
			read, err := Parse(source, text)
			docs = append(docs, read...)
			if more, ok := errors.AsType[Problems](err); ok {
				problems = append(problems, more...)
			}
		}
	}
	return docs, problems.err()
}

// sources lists the files that a path stands for.
func sources(path string, recursive bool, problems *Problems) []string {
	if path == "-" {
		return []string{path}
	}
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		*problems = append(*problems, Problem{Source: path, Text: "addresses are not fetched; pipe the text in: curl -fsSL " + path + " | flotilla apply -f -"})
		return nil
	}
	found, err := os.Stat(path)
	if err != nil {
		*problems = append(*problems, Problem{Source: path, Text: reason(err)})
		return nil
	}
	if !found.IsDir() {
		return []string{path}
	}
	inside, err := folder(path, recursive)
	switch {
	case err != nil:
		*problems = append(*problems, Problem{Source: path, Text: reason(err)})
	case len(inside) == 0:
		*problems = append(*problems, Problem{Source: path, Text: "the folder holds no " + strings.Join(extensions, ", ") + " file"})
	}
	return inside
}

func folder(root string, recursive bool) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

// text reads a source with a bound. A file that was found in a folder has to be one; a path that was named may lead to a
// pipe, as <(…) of a shell does.
func text(stdin io.Reader, source string, named bool) ([]byte, error) {
	if source == "-" {
		return files.All(stdin, files.Most)
	}
	if !named {
		if err := files.CheckRegular(source); err != nil {
			return nil, err
		}
	}
	return files.Read(source, files.Most)
}

// reason is what the system said, without the path, which the problem names already.
func reason(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// Parse reads the documents of one text, YAML or JSON. Empty documents are skipped and lists
// flattened. What could be read is returned beside the Problems of the rest.
func Parse(source string, text []byte) ([]Document, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if docs, ok := parseJSON(source, text); ok {
		return flattenAll(docs)
	}
	var docs []Document
	var problems Problems
	if wrong := brokenJSON(source, text); wrong != nil {
		return nil, Problems{*wrong}
	}
	index := 0
	for _, part := range split(text) {
		if blank(part.text) {
			continue
		}
		index++
		read, wrong := parseYAML(source, index, part)
		docs = append(docs, read...)
		problems = append(problems, wrong...)
	}
	return docs, problems.err()
}

// part is the text of one YAML document.
type part struct {
	text []byte
	line int // of the source, at which the part begins
}

// split cuts a text at its lines "---" and "...". They cannot stand at the beginning of a line
// inside a document, so one broken document does not hide the next.
func split(text []byte) []part {
	var parts []part
	current := part{line: 1}
	line := 0
	for rest := text; len(rest) > 0; {
		line++
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		this := rest[:end]
		rest = rest[end:]
		if !marker(this) {
			current.text = append(current.text, this...)
			continue
		}
		parts = append(parts, current)
		current = part{line: line, text: append([]byte("   "), this[3:]...)}
	}
	return append(parts, current)
}

func marker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.ContainsRune([]byte(" \t\r\n"), rune(line[3]))
}

// blank reports whether a part holds nothing but comments and directives.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
