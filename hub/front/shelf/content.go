package shelf

import (
	"slices"
	"strings"
)

// content are the objects of a shelf.
type content struct {
	items  map[string]*Item
	sorted []*Item // by key; who was given it reads it while others come
	round  int     // how often they were read or emptied
}

// set has other items be the content.
func (c *content) set(items map[string]*Item) {
	sorted := make([]*Item, 0, len(items))
	for _, was := range c.sorted {
		if now := items[was.Key]; now != nil {
			sorted = append(sorted, now)
		}
	}
	if old := len(sorted); old < len(items) {
		for key, one := range items {
			if c.items[key] == nil {
				sorted = append(sorted, one)
			}
		}
		slices.SortFunc(sorted[old:], byKey)
		sorted = merged(sorted[:old], sorted[old:])
	}
	c.items, c.sorted = items, sorted
}

func byKey(a, b *Item) int { return strings.Compare(a.Key, b.Key) }

// merged are the items of two sorted slices.
func merged(a, b []*Item) []*Item {
	all := make([]*Item, 0, len(a)+len(b))
	for _, one := range b {
		at, _ := slices.BinarySearchFunc(a, one, byKey)
		all, a = append(append(all, a[:at]...), one), a[at:]
	}
	return append(all, a...)
}

// of are the items in a namespace, all where that is empty.
func (c *content) of(namespace string) []*Item {
	if namespace == "" {
		return c.sorted
	}
	of := Behind(c.sorted, namespace+"/")
	return of[:len(of)-len(Behind(of, namespace+"0"))] // which comes behind the slash
}

// Behind are those of sorted items that come behind a key.
func Behind(sorted []*Item, key string) []*Item {
	at, found := slices.BinarySearchFunc(sorted, key, func(i *Item, key string) int { return strings.Compare(i.Key, key) })
	if found {
		at++
	}
	return sorted[at:]
}
