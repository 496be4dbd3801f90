package api

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// kindPattern is what Kubernetes lets kinds be.
var kindPattern = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// Printable reports whether text can be shown to people as it is: it has no control characters, line breaks, or
// marks that turn the direction of text around.
func Printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// wellFormed checks what a document names itself by, which is shown and stored wherever it goes.
func (r *reading) wellFormed() {
	var at *place
	if kind := r.out.Object.Kind; kind != "" && !kindPattern.MatchString(kind) {
		r.findings.lose(at.child("kind"), quote(kind), "at most 63 letters, digits and inner dashes, beginning with a letter")
	}
	if version := r.out.Object.APIVersion; version != "" && !isAPIVersion(version) {
		r.findings.lose(at.child("apiVersion"), quote(version), `a version, or a group and a version, like "v1" or "apps/v1"`)
	}
}

func isAPIVersion(text string) bool {
	group, version, grouped := strings.Cut(text, "/")
	if !grouped {
		return len(validation.IsDNS1035Label(text)) == 0
	}
	return len(validation.IsDNS1123Subdomain(group)) == 0 && len(validation.IsDNS1035Label(version)) == 0
}
