package offline

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
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// nodeFiles are the documents of one member that decisions about its nodes read.
type nodeFiles struct {
	pools   []*api.NodePool
	catalog *api.InstanceCatalog
	cluster.Listing
	rest   []Document // of other kinds, node classes among them
	Notes  []string
	faults strict.Faults
	seen   map[api.ObjectRef]string // where each object stands
}

// ReadNodeFiles reads files about one member. All faults come back at once.
func (s *Source) ReadNodeFiles(a *resource.Client) (*nodeFiles, error) {
	documents, err := s.Read(a)
	if err != nil {
		return nil, err
	}
	return NodeFilesOf(s, documents)
}

// NodeFilesOf sorts documents about one member.
func NodeFilesOf(s *Source, documents []Document) (*nodeFiles, error) {
	f := &nodeFiles{seen: map[api.ObjectRef]string{}}
	for i := range documents {
		if d := &documents[i]; f.first(d) {
			f.add(d)
		}
	}
	if err := f.faults.Err(); err != nil {
		return nil, DescribeFaults(err, documents, s, false)
	}
	if len(f.pools) == 0 {
		return nil, session.Refusedf("the files hold no NodePool (karpenter.sh/v1): found %d documents of other kinds", len(documents))
	}
	slices.SortFunc(f.pools, func(a, b *api.NodePool) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

// first refuses an object that the files hold twice.
func (f *nodeFiles) first(d *Document) bool {
	if d.Ref.Kind == "" || d.Ref.Name == "" {
		return true
	}
	before, twice := f.seen[d.Ref]
	if twice {
		f.fault(d, "metadata.name", fmt.Sprintf("%q, which stands in %s too", d.Ref.Name, before), "each object once")
	}
	f.seen[d.Ref] = d.Where()
	return !twice
}

func (f *nodeFiles) fault(d *Document, path, found, expected string) {
	object := ""
	if d.Ref.Name != "" {
		object = d.Ref.String()
	}
	f.located(d, strict.Faults{{Object: object, Path: path, Found: found, Expected: expected}})
}

func (f *nodeFiles) add(d *Document) {
	decoded, faults := validate.Decoded{}, strict.Faults(nil)
	if d.Ref.Kind == api.KindNodePool || d.Ref.Kind == api.KindInstanceCatalog {
		decoded, faults = validate.Decode(d.Body)
		faults = append(faults, ZoneFaults(&decoded)...)
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
func (f *nodeFiles) located(d *Document, faults strict.Faults) bool {
	f.faults = append(f.faults, d.Placed(faults)...)
	return len(faults) == 0
}

func (f *nodeFiles) notePool(p *api.NodePool, notes []string) {
	for _, text := range notes {
		f.Notes = append(f.Notes, "NodePool/"+p.Name+": "+text)
	}
	if p.Annotations[api.AnnotationMembers] != "" {
		f.Notes = append(f.Notes, fmt.Sprintf("NodePool/%s: %s is not looked at: the files are taken to be of one member that it selects", p.Name, api.AnnotationMembers))
	}
}

// addKubernetes reads what a member's own API server prints.
func (f *nodeFiles) addKubernetes(d *Document) {
	switch d.Ref.APIVersion + "/" + d.Ref.Kind {
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
		if isNodeClaim(d.Ref) {
			f.NodeClaims = kept(f, d, f.NodeClaims)
			return
		}
		f.addStorage(d)
	}
}

func (f *nodeFiles) addStorage(d *Document) {
	switch d.Ref.APIVersion + "/" + d.Ref.Kind {
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
func kept[T any](f *nodeFiles, d *Document, to []*T) []*T {
	value := new(T)
	err := strict.Kubernetes(d.Body, value)
	if faults, ok := errors.AsType[strict.Faults](err); ok {
		for i := range faults {
			faults[i].Object = d.Ref.String()
		}
		f.located(d, faults)
		return to
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f.fault(d, wrong.Field, wrong.Value, "what Kubernetes has there, "+wrong.Type.String())
		return to
	}
	if err != nil {
		f.fault(d, "", err.Error(), "a "+d.Ref.Kind+" as kubectl get -o yaml prints it")
		return to
	}
	if d.Ref.Name == "" {
		f.fault(d, "metadata.name", "nothing", "the name of a "+d.Ref.Kind)
		return to
	}
	return append(to, value)
}
