// Package docs holds the documents that the programs read themselves.
package docs

import _ "embed" // of the documents

// Objects is docs/objects.md: what each field of each kind means.
//
//go:embed objects.md
var Objects string
