package api

import (
	"strconv"
	"strings"
)

// Printable reports whether text can be shown to people as it is: it has no control characters, line breaks, or
// marks that turn the direction of text around.
func Printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}
