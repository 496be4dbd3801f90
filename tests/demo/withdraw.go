package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"flotilla/core/api"
)

// archive is a placement of a namespace with so many shelves that nobody loses all of them by a slip.
const (
	archive = "archive"
	shelves = 14
)

func archiveText() string {
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: archive}\n")
	for i := range shelves {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shelf-%02d, namespace: archive}\ndata: {held: \"yes\"}\n", i)
	}
	return text.String() + archivePlacement("NamespaceWithResources")
}

func archivePlacement(scope string) string {
	return `---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: archive}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: archive, selectionScope: ` + scope + `}]
  policy: {placementType: PickFixed, clusterNames: [dublin, lyon]}
`
}

// withdraw lets a selector take everything out of a namespace by one word: members keep it until somebody has looked at that.
func (d *demo) withdraw(ctx context.Context) error {
	if err := d.applyText(ctx, "archive.yaml", archiveText()); err != nil {
		return err
	}
	if err := d.placed(ctx, archive); err != nil {
		return err
	}
	if err := d.applyText(ctx, "slip.yaml", strings.TrimPrefix(archivePlacement("NamespaceOnly"), "---\n")); err != nil {
		return err
	}
	if err := d.until(ctx, "the withdrawal is held", d.withdrawalHeld); err != nil {
		return err
	}
	if err := d.shelvesAre(shelves); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "status"); err != nil {
		return err
	}
	if err := d.flotilla(ctx, "approve", "withdrawal", "placement/"+archive); err != nil {
		return err
	}
	return d.until(ctx, "the shelves go", func(context.Context) error { return d.shelvesAre(0) })
}

func (d *demo) applyText(ctx context.Context, name, text string) error {
	file := filepath.Join(d.folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return d.flotilla(ctx, "apply", "-f", file)
}

// withdrawalHeld wants the placement to say that it takes nothing away yet.
func (d *demo) withdrawalHeld(ctx context.Context) error {
	p, err := d.placement(ctx, archive)
	if err != nil {
		return err
	}
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Reason == api.ReasonWithdrawalHeld {
			return nil
		}
	}
	return fmt.Errorf("no condition of %s has reason %s", archive, api.ReasonWithdrawalHeld)
}

// shelvesAre looks into the members.
func (d *demo) shelvesAre(want int) error {
	for _, member := range []string{"dublin", "lyon"} {
		found := 0
		for _, object := range d.fleet.Agent(member).Memory().Objects() {
			if object.GetKind() == "ConfigMap" && object.GetNamespace() == archive {
				found++
			}
		}
		if found != want {
			return fmt.Errorf("%s has %d shelves, expected %d", member, found, want)
		}
	}
	return nil
}
