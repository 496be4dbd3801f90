package subjects

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// ResultSlots is how many subjects of bucket result a member has. All results of a kind and name lie in
// the batch of one slot, so that what a member can store is bounded however many results it has.
const ResultSlots = 16

// ResultSlot is the slot of the results of a kind and name, from 0.
func ResultSlot(kind, name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(kind + "\x00" + name)) // a hash takes everything
	return int(h.Sum32() % ResultSlots)
}

// ResultSlotKey is the key of a slot in bucket result, "<member>.<slot>".
func ResultSlotKey(member string, slot int) string { return member + "." + strconv.Itoa(slot) }

// ParseResultSlotKey is the inverse of ResultSlotKey.
func ParseResultSlotKey(key string) (member string, slot int, ok bool) {
	member, number, _ := strings.Cut(key, ".")
	slot, err := strconv.Atoi(number)
	ok = err == nil && CheckLabel("member", member) == nil && slot >= 0 && slot < ResultSlots && strconv.Itoa(slot) == number
	return member, slot, ok
}
