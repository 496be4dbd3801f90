package subjects

import (
	"fmt"
	"slices"
	"strings"
)

// mostSubject is how long the subject of a record may be: longer than hubs make any, and within what a server takes, see MostLength.
const mostSubject = 3 << 10

// ofMember is the token of the keys of records that go by the name of a member, which is part of subjects too.
const ofMember = "<member>"

// KeyFault is what is wrong with a key of a bucket that somebody else names, and what was expected; empty where it is right. No server would store
// what lies at a wrong one, or, in bucket state, nobody could read whose record it is. Keys of kinds that this build does not know are right.
func (f Fleet) KeyFault(bucket, key string) (found, expected string) {
	length := len(f.BucketSubject(bucket, key))
	strange := strings.IndexFunc(key, func(c rune) bool { return c > 'z' || !plain(byte(c)) && !strings.ContainsRune("/=.", c) })
	switch {
	case length > mostSubject:
		return fmt.Sprintf("%d bytes of a subject", length), fmt.Sprintf("at most %d", mostSubject)
	case strange >= 0:
		return fmt.Sprintf("%.1q at byte %d", key[strange:], strange), "letters, digits and any of -_/=."
	case slices.Contains(strings.Split(key, "."), ""):
		return "nothing before, behind or between dots", "letters, digits and any of -_/= there"
	case bucket == State:
		return nameless(key)
	}
	return "", ""
}

// nameless is what is found where a key begins as those of some kind of record do, and does not go on with a name of one.
func nameless(key string) (found, expected string) {
	at := slices.IndexFunc(records, func(r Record) bool { return strings.HasPrefix(key, r.Family.prefix) })
	if at < 0 {
		return "", ""
	}
	r := &records[at]
	name, reads := r.Family.Name(key)
	if reads && r.Family.Key(name) == key && (r.Token != ofMember || CheckLabel("member", name) == nil) {
		return "", ""
	}
	return fmt.Sprintf("%.100q as its name", strings.TrimPrefix(key, r.Family.prefix)), "a name as hubs write it: " + r.Family.prefix + r.Token
}
