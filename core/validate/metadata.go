package validate

import (
	"fmt"

	"flotilla/core/strict"
)

// Labels and annotations are kept in memory of every object, and looked at by selectors.
const (
	// maxMetadataBytes bounds the names and values of all of them: API servers hold annotations alone to it.
	maxMetadataBytes = 256 << 10
	// maxMetadataEntries bounds how many there are: each takes a hundred bytes of memory, however short.
	maxMetadataEntries = 2000
)

// metadata checks that the labels and annotations of an object are no more together than anybody needs. Where they are, the
// larger of the two is to blame.
func (r *reading) metadata() {
	meta := r.tree.Get("metadata")
	labels, annotations := meta.Get("labels"), meta.Get("annotations")
	at, most := "annotations", textsIn(annotations)
	if n := textsIn(labels); n > most {
		at, most = "labels", n
	}
	if n := textsIn(labels) + textsIn(annotations); n > maxMetadataBytes {
		r.findings.Add((*strict.Place)(nil).In("metadata", at), fmt.Sprintf("labels and annotations of %d bytes, %d of them here", n, most), fmt.Sprintf("at most %d bytes, labels and annotations together", maxMetadataBytes), nil)
	}
	at, most = "annotations", entriesIn(annotations)
	if n := entriesIn(labels); n > most {
		at, most = "labels", n
	}
	if n := entriesIn(labels) + entriesIn(annotations); n > maxMetadataEntries {
		r.findings.Add((*strict.Place)(nil).In("metadata", at), fmt.Sprintf("%d labels and annotations, %d of them here", n, most), fmt.Sprintf("at most %d, labels and annotations together", maxMetadataEntries), nil)
	}
}

func entriesIn(n *strict.Node) int {
	if n == nil {
		return 0
	}
	return len(n.Keys)
}

// textsIn is how long the names and the texts of a map are.
func textsIn(n *strict.Node) (bytes int) {
	if n == nil {
		return 0
	}
	for i, key := range n.Keys {
		bytes += len(key) + len(n.Values[i].Text)
	}
	return bytes
}
