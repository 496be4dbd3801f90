// Package salvage serves requests while records of state are gone and nobody leads: it shows what is left and
// what is gone, and refuses everything else, until somebody says how to go on. The hub calls it in place of
// all rooms. Nothing is decided from what is left, so nothing that members run is changed by it.
package salvage
