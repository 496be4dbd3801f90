package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// nodeFiles are the documents of one member that decisions about its nodes read.
type nodeFiles struct {
	pools   []*api.NodePool
	catalog *api.InstanceCatalog
	cluster.Listing
	rest   []document // of other kinds, node classes among them
	notes  []string
	faults strict.Faults
	seen   map[api.ObjectRef]string // where each object stands
}

// readNodeFiles reads files about one member. All faults come back at once.
func (s *source) readNodeFiles(a *Client) (*nodeFiles, error) {
	documents, err := s.read(a)
	if err != nil {
		return nil, err
	}
	return nodeFilesOf(s, documents)
}

func nodeFilesOf(s *source, documents []document) (*nodeFiles, error) {
	f := &nodeFiles{seen: map[api.ObjectRef]string{}}
	for i := range documents {
		if d := &documents[i]; f.first(d) {
			f.add(d)
		}
	}
	if err := f.faults.Err(); err != nil {
		return nil, describeFaults(err, documents, s, false)
	}
	if len(f.pools) == 0 {
		return nil, refusedf("the files hold no NodePool (karpenter.sh/v1): found %d documents of other kinds", len(documents))
	}
	slices.SortFunc(f.pools, func(a, b *api.NodePool) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

// first refuses an object that the files hold twice.
func (f *nodeFiles) first(d *document) bool {
	if d.ref.Kind == "" || d.ref.Name == "" {
		return true
	}
	before, twice := f.seen[d.ref]
	if twice {
		f.fault(d, "metadata.name", fmt.Sprintf("%q, which stands in %s too", d.ref.Name, before), "each object once")
	}
	f.seen[d.ref] = d.where()
	return !twice
}

func (f *nodeFiles) fault(d *document, path, found, expected string) {
	object := ""
	if d.ref.Name != "" {
		object = d.ref.String()
	}
	f.located(d, strict.Faults{{Object: object, Path: path, Found: found, Expected: expected}})
}

func (f *nodeFiles) add(d *document) {
	decoded, faults := validate.Decoded{}, strict.Faults(nil)
	if d.ref.Kind == api.KindNodePool || d.ref.Kind == api.KindInstanceCatalog {
		decoded, faults = validate.Decode(d.body)
		faults = append(faults, zoneFaults(&decoded)...)
	}
	if !f.located(d, faults) {
		return
	}
	switch value := decoded.Value.(type) {
	case *api.NodePool:
		f.pools = append(f.pools, value)
		f.notePool(value, decoded.Notes)
	case *api.InstanceCatalog:
		if f.catalog != nil {
			f.fault(d, "kind", "a second InstanceCatalog", "one in all, with every type")
			return
		}
		f.catalog = value
	default:
		f.addKubernetes(d)
	}
}

// located adds faults with the place of their document, and reports whether there are none.
func (f *nodeFiles) located(d *document, faults strict.Faults) bool {
	f.faults = append(f.faults, d.placed(faults)...)
	return len(faults) == 0
}

func (f *nodeFiles) notePool(p *api.NodePool, notes []string) {
	for _, text := range notes {
		f.notes = append(f.notes, "NodePool/"+p.Name+": "+text)
	}
	if p.Annotations[api.AnnotationMembers] != "" {
		f.notes = append(f.notes, fmt.Sprintf("NodePool/%s: %s is not looked at: the files are taken to be of one member that it selects", p.Name, api.AnnotationMembers))
	}
}

// addKubernetes reads what a member's own API server prints.
func (f *nodeFiles) addKubernetes(d *document) {
	switch d.ref.APIVersion + "/" + d.ref.Kind {
	case "v1/Node":
		f.Nodes = kept(f, d, f.Nodes)
	case "v1/Pod":
		f.Pods = kept(f, d, f.Pods)
	case "v1/Namespace":
		f.Namespaces = kept(f, d, f.Namespaces)
	case "policy/v1/PodDisruptionBudget":
		f.Budgets = kept(f, d, f.Budgets)
	case "apps/v1/DaemonSet":
		f.DaemonSets = kept(f, d, f.DaemonSets)
	default:
		if isNodeClaim(d.ref) {
			f.NodeClaims = kept(f, d, f.NodeClaims)
			return
		}
		f.addStorage(d)
	}
}

func (f *nodeFiles) addStorage(d *document) {
	switch d.ref.APIVersion + "/" + d.ref.Kind {
	case "v1/PersistentVolumeClaim":
		f.Claims = kept(f, d, f.Claims)
	case "v1/PersistentVolume":
		f.Volumes = kept(f, d, f.Volumes)
	case "storage.k8s.io/v1/StorageClass":
		f.Classes = kept(f, d, f.Classes)
	case "storage.k8s.io/v1/CSINode":
		f.CSINodes = kept(f, d, f.CSINodes)
	default:
		f.rest = append(f.rest, *d)
	}
}

// kept appends a document of a Kubernetes kind, when it can be read as one.
func kept[T any](f *nodeFiles, d *document, to []*T) []*T {
	value := new(T)
	err := strict.Kubernetes(d.body, value)
	if faults, ok := errors.AsType[strict.Faults](err); ok {
		for i := range faults {
			faults[i].Object = d.ref.String()
		}
		f.located(d, faults)
		return to
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f.fault(d, wrong.Field, wrong.Value, "what Kubernetes has there, "+wrong.Type.String())
		return to
	}
	if err != nil {
		f.fault(d, "", err.Error(), "a "+d.ref.Kind+" as kubectl get -o yaml prints it")
		return to
	}
	if d.ref.Name == "" {
		f.fault(d, "metadata.name", "nothing", "the name of a "+d.ref.Kind)
		return to
	}
	return append(to, value)
}
