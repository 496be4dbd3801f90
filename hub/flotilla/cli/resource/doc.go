// Package resource names, reads, watches, changes and deletes objects of the hub, as arguments and flags of kubectl's grammar say.
package resource
