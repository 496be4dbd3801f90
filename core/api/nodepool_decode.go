package api

import (
	"slices"
	"strings"
)

// DecodeNodePool reads one NodePool as JSON, strictly, with notes that stop nothing, BudgetLint
// warnings among them. All faults come back at once. Nothing is defaulted; status is ignored.
func DecodeNodePool(raw []byte) (*NodePool, []string, Faults) {
	p := &NodePool{}
	faults := decodeOwn(raw, p, KindNodePool, []string{GroupKarpenter + "/v1", GroupKarpenter + "/v1beta1"}, func() findings { return validateNodePool(p) })
	if len(faults) > 0 {
		return p, nil, faults
	}
	return p, append(poolAnnotationNotes(p.Annotations), nodePoolNotes(p)...), nil
}

// DecodeInstanceCatalog reads one InstanceCatalog as JSON, strictly.
func DecodeInstanceCatalog(raw []byte) (*InstanceCatalog, Faults) {
	c := &InstanceCatalog{}
	faults := decodeOwn(raw, c, KindInstanceCatalog, []string{GroupFlotilla + "/v1alpha1"}, func() findings { return validateCatalog(c) })
	return c, faults
}

// decodeOwn decodes a document of one kind and holds it to its rules.
func decodeOwn(raw []byte, into any, kind string, versions []string, rules func() findings) Faults {
	tree, duplicates, err := readTree(raw)
	if err != nil {
		return Faults{syntaxFault(err)}
	}
	r := reading{raw: raw, tree: tree, findings: duplicates}
	if tree.shape != shapeMap {
		r.findings.lose(nil, tree.String(), "a map with apiVersion, kind and metadata")
		return r.findings.faults(kind)
	}
	r.out.Object = ObjectRef{APIVersion: textAt(tree, "apiVersion"), Kind: textAt(tree, "kind"), Name: textAt(tree.get("metadata"), "name")}
	var at *place
	if r.out.Object.Kind != kind {
		r.findings.add(at.child("kind"), quote(r.out.Object.Kind), kind, textNode(kind))
	} else if !slices.Contains(versions, r.out.Object.APIVersion) {
		r.findings.add(at.child("apiVersion"), quote(r.out.Object.APIVersion), oneOf(versions), textNode(versions[0]))
	}
	r.out.serverSet = serverSet(tree)
	tree.remove("status")
	r.strict(into)
	r.check(rules())
	return r.findings.faults(r.name())
}

// poolAnnotationNotes remarks on annotations of our group that nothing reads on a pool.
func poolAnnotationNotes(annotations map[string]string) []string {
	read := []string{AnnotationMembers, AnnotationExpiration, AnnotationFleetBudget}
	var notes []string
	for _, key := range sortedKeys(annotations) {
		if !strings.HasPrefix(key, GroupFlotilla+"/") || slices.Contains(read, key) {
			continue
		}
		note := "metadata.annotations: nothing reads " + key
		if near := Nearest(key, read); near != "" {
			note += "; did you mean " + near + "?"
		}
		notes = append(notes, note)
	}
	return notes
}
