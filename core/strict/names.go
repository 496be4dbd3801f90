package strict

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxName is how long names of placements and members may be, in characters: records and messages carry them.
const MaxName = 63

// Subdomain holds a name to DNS-1123 and to MaxName.
func (f *Findings) Subdomain(name string, at *Place) {
	f.named(name, at, validation.IsDNS1123Subdomain, "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit")
}

// Label holds a name to DNS-1123, without dots, and to MaxName.
func (f *Findings) Label(name string, at *Place) {
	f.named(name, at, validation.IsDNS1123Label, "lower-case letters, digits and '-', beginning and ending with a letter or digit")
}

func (f *Findings) named(name string, at *Place, rule func(string) []string, expected string) {
	switch {
	case name == "":
		f.Add(at, "nothing", "a name", nil)
	case len(name) > MaxName:
		f.Add(at, Quote(name), fmt.Sprintf("at most %d characters, not %d", MaxName, len(name)), nil)
	case len(rule(name)) > 0:
		f.Add(at, Quote(name), expected, Lowered(name, rule))
	}
}

// Lowered proposes a name in lower case with dashes for underscores, when that is all it needs.
func Lowered(name string, rule func(string) []string) *Node {
	fixed := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if len(rule(fixed)) > 0 {
		return nil
	}
	return TextNode(fixed)
}

// Meant is the word that a value stands for: itself, or the one it was most likely meant to be; "" when
// that cannot be told. What depends on a misspelt word is judged by the word that was meant.
func Meant(value string, words ...string) string {
	if slices.Contains(words, value) {
		return value
	}
	return Nearest(value, words)
}

// Shown quotes a value for people, "nothing" when it is empty.
func Shown(value string) string {
	if value == "" {
		return "nothing"
	}
	return Quote(value)
}
