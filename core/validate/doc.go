// Package validate reads what users write: it knows each kind's rules and defaults, and holds a document to those
// that need no other object. core/strict reads, core/api says what is read; here stands what may be in it and why not.
package validate
