// Package examples holds the example files: the placements of the tutorials with the content they
// place, a fleet of eight members, what upgrades them, and forms that are refused. The demo, the hub's
// --dev mode and tests read them from here, so that they work without a checkout beside them.
package examples

import "embed"

// Files holds the example files: placements ("000-…", "004-…"), their content ("content-…"),
// members.yaml, agents/NAME.yaml, checks/NAME.yaml, envelopes/NAME.yaml, fleet/members.yaml, namespaced/NAME.yaml, nodes/NAME.yaml, staged/NAME.yaml, upgrades/NAME.yaml, and refused/.
//
//go:embed *.yaml agents/*.yaml checks/*.yaml envelopes/*.yaml fleet/*.yaml namespaced/*.yaml nodes/*.yaml refused/*.yaml staged/*.yaml upgrades/*.yaml
var Files embed.FS
