package plan

import (
	"cmp"
	"encoding/json"
	"time"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Document is one document of the user's files.
type Document struct {
	JSON json.RawMessage
	// Object is what the document calls itself.
	Object api.ObjectRef

	number  int // among the documents, from 1
	read    bool
	decoded validate.Decoded
	faults  strict.Faults
}

// Decode reads the document, which is most of the work of Collect. It may be called before, for
// different documents at the same time; Collect does it otherwise.
func (d *Document) Decode() {
	if !d.read && !d.foreign() {
		d.decoded, d.faults = validate.Decode(d.JSON)
	}
	d.read = true
}

// Collected is what files say about a fleet.
type Collected struct {
	Members    []api.Member
	Subjects   []Subject
	Notes      []string
	NewestBeat time.Time // zero when no member was ever heard of
	Upgrades   Upgrades

	standings map[string]Standing
	contents  []ContentRun
	checks    map[string]*api.RolloutCheck
	index     *content.Index
}

// Collect reads files into the subjects and members of a plan: members with their status, placements,
// content, and what is known of present bindings. Bindings are read from KubeFleet's exported
// ClusterResourceBindings and ResourceBindings, from Schedule records of ours, or from the status of
// an exported placement, in this order. Members, update runs with what they need (strategies, the
// catalog, schedules, and inventories in the status of members or as records) become Upgrades. A placement that was exported (it has a uid) and stands in the
// files a second time is the present one of the other. Faults number every document that cannot be used.
//
// The documents are changed only by being decoded, and defaults are filled into what was decoded.
func Collect(documents []Document) (Collected, strict.Faults) {
	c := collector{
		members:    map[string]*memberDocs{},
		placements: map[string]*placementDocs{},
		bindings:   map[string][]boundMember{},
		policies:   map[string]policySnapshot{},
		schedules:  map[string]*api.Schedule{},
		index:      content.NewIndex(),
		ignored:    map[string]int{},
		upgrades:   newUpgradeDocs(),
		contents:   newContentDocs(),
	}
	for i := range documents {
		documents[i].number = i + 1
		c.read(&documents[i])
	}
	out := Collected{}
	if len(c.faults) == 0 {
		out = Collected{Members: c.allMembers(), Subjects: c.allSubjects(), Upgrades: c.allUpgrades(), standings: c.allStandings(), contents: c.allContents(), checks: c.contents.checks, index: c.index}
	}
	if len(c.faults) > 0 {
		return Collected{}, c.faults
	}
	out.Notes = append(c.notes, c.leftOver()...)
	for i := range out.Members {
		if at := out.Members[i].LastHeartbeat; at.After(out.NewestBeat) {
			out.NewestBeat = at
		}
	}
	return out, nil
}

// collector sorts documents by what they tell.
type collector struct {
	members    map[string]*memberDocs
	placements map[string]*placementDocs
	bindings   map[string][]boundMember // by placement key
	policies   map[string]policySnapshot
	schedules  map[string]*api.Schedule
	index      *content.Index
	ignored    map[string]int
	upgrades   upgradeDocs
	contents   contentDocs
	// versionOnly are members of which only the Kubernetes version is known.
	versionOnly []string
	notes       []string
	faults      strict.Faults
}

// memberDocs are the documents of one member: one with a status says how it does, one without what is
// wanted of it.
type memberDocs struct {
	wanted, exported *api.MemberCluster
}

// placementDocs are the documents of one placement: the exported one is as it stands, the other as it
// is to be.
type placementDocs struct {
	wanted, exported *api.Placement
	status           *api.PlacementStatus
}

func (c *collector) read(d *Document) {
	if d.foreign() {
		c.readForeign(d)
		return
	}
	d.Decode()
	decoded, faults := &d.decoded, d.faults
	if len(faults) > 0 && c.readObserved(d, faults) {
		return
	}
	if len(faults) > 0 {
		for _, f := range faults {
			f.Object, f.Document = cmp.Or(f.Object, decoded.Object.Kind), d.number
			c.faults = append(c.faults, f)
		}
		return
	}
	switch value := decoded.Value.(type) {
	case *api.MemberCluster:
		c.readMember(d, value)
	case *api.Placement:
		c.readPlacement(d, value)
	case *api.NodePool, *api.InstanceCatalog:
		c.notes = append(c.notes, decoded.Object.String()+" left out: flotilla plan nodes says what would happen to nodes")
	case nil:
		c.readContent(d, decoded.Object)
	default:
		c.readUpgrade(d, value)
	}
}

// readObserved takes a member that another hub exported with its status as it is: what that hub
// accepted is a fact of the plan, and what ours would refuse is only noted (D5).
func (c *collector) readObserved(d *Document, faults strict.Faults) bool {
	m := &api.MemberCluster{}
	if json.Unmarshal(d.JSON, m) != nil || m.Kind != api.KindMemberCluster || m.Name == "" || m.Status == nil {
		return false
	}
	for _, f := range faults {
		c.notes = append(c.notes, "taken as exported, an apply would refuse it: "+f.String())
	}
	c.readMember(d, m)
	return true
}

func (c *collector) readMember(d *Document, m *api.MemberCluster) {
	docs := c.members[m.Name]
	if docs == nil {
		docs = &memberDocs{}
		c.members[m.Name] = docs
	}
	slot := &docs.wanted
	if m.Status != nil {
		slot = &docs.exported
	}
	if *slot != nil {
		c.twice(d, "MemberCluster/"+m.Name)
	}
	*slot = m
}

func (c *collector) readPlacement(d *Document, p *api.Placement) {
	validate.Default(p)
	docs := c.placements[p.Key()]
	if docs == nil {
		docs = &placementDocs{}
		c.placements[p.Key()] = docs
	}
	slot := &docs.wanted
	if p.UID != "" {
		slot = &docs.exported
		docs.status = statusOf(d.JSON)
	}
	if *slot != nil {
		c.twice(d, p.Kind+"/"+p.Key())
	}
	*slot = p
}

// onPaper digests content of files, which is compared with other content of files alone and kept nowhere.
var onPaper = &seal.Keyring{}

func (c *collector) readContent(d *Document, ref api.ObjectRef) {
	var document map[string]any
	err := json.Unmarshal(d.JSON, &document)
	if err == nil {
		var o content.Object
		if o, err = content.New(document, onPaper); err == nil {
			c.index.Set(o.Head)
			return
		}
	}
	c.faults = append(c.faults, strict.Fault{Object: ref.String(), Document: d.number, Kind: strict.FaultType, Found: err.Error(), Expected: "an object"})
}

func (c *collector) twice(d *Document, object string) {
	c.faults = append(c.faults, strict.Fault{
		Object: object, Document: d.number, Kind: strict.FaultDuplicate, Path: "metadata.name", Found: "a second document of this name",
		Expected: "one, or one exported with its status and uid beside the one that is wanted",
	})
}
