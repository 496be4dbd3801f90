// Package flaws knows which versions of nats-server break a promise of Flotilla.
//
// Source: the security advisories and the release notes of nats-server.
package flaws

import (
	"fmt"
	"strings"

	"flotilla/core/phrase"

	"k8s.io/apimachinery/pkg/util/version"
)

// Enough is the oldest release that all later ones are as good as.
const Enough = "2.14.6"

// flaw is a promise that versions break. Fixed are the first releases that keep it, one of each minor version that got a fix; all minor
// versions after the last of them keep it too.
type flaw struct {
	says  string
	fixed []string
}

var all = []flaw{
	{"a leaf node or an agent gets messages to where its permissions do not let it", []string{"2.11.16", "2.12.7", "2.14.0"}},
	{"a power cut may lose what was acknowledged, also with sync_interval: always", []string{Enough}},
}

// Of says what is wrong with a version of nats-server, such as "2.10.3" or "2.14.0-RC.1"; empty where nothing is. Of a version that
// cannot be read nobody knows, which is said too.
func Of(running string) string {
	v, err := version.ParseSemantic(running)
	if err != nil {
		return fmt.Sprintf("found version %s, expected one such as %s: whether it keeps what Flotilla promises is not known", phrase.Quoted(running), Enough)
	}
	var broken []string
	for _, f := range all {
		if !f.fixedIn(v) {
			broken = append(broken, f.says)
		}
	}
	if len(broken) == 0 {
		return ""
	}
	return fmt.Sprintf("nats-server %s breaks what Flotilla promises: %s; run %s or newer", running, strings.Join(broken, "; "), Enough)
}

func (f *flaw) fixedIn(v *version.Version) bool {
	for i, text := range f.fixed {
		fixed := version.MustParseSemantic(text)
		last, same := i == len(f.fixed)-1, fixed.Major() == v.Major() && fixed.Minor() == v.Minor()
		if (last || same) && v.AtLeast(fixed) {
			return true
		}
	}
	return false
}
