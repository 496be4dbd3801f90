package whatif

import (
	"encoding/json"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Addable says that what is of a kind can be added to a fleet.
func Addable(kind string) bool {
	return kind == api.KindMemberCluster || kind == api.KindClusterResourcePlacement || kind == api.KindResourcePlacement
}

// Add puts documents into the input: members join it, or take the place of those of their name, placements are new or the next
// version of those of their name. Faults number the documents that cannot be added, from 1.
func (in *Input) Add(documents []json.RawMessage) strict.Faults {
	var faults strict.Faults
	for i, document := range documents {
		decoded, wrong := validate.Decode(document)
		if len(wrong) == 0 {
			wrong = in.add(&decoded)
		}
		for _, f := range wrong {
			if f.Document = i + 1; f.Object == "" {
				f.Object = decoded.Object.String()
			}
			faults = append(faults, f)
		}
	}
	return faults
}

func (in *Input) add(decoded *validate.Decoded) strict.Faults {
	switch value := decoded.Value.(type) {
	case *api.MemberCluster:
		if value.Status == nil {
			in.Notes = append(in.Notes, NoStatus(value.Name))
		}
		in.Added = append(in.Added, Joined(value, in.Now))
	case *api.Placement:
		validate.Default(value)
		in.next(value)
	default:
		return strict.Faults{Refused(decoded.Object)}
	}
	return nil
}

// Refused is the fault of a document that cannot be added.
func Refused(object api.ObjectRef) strict.Fault {
	return strict.Fault{
		Kind: strict.FaultValue, Object: object.String(), Path: "kind", Found: object.Kind,
		Expected: "MemberCluster, ClusterResourcePlacement or ResourcePlacement: what is added is a member or a placement",
	}
}

// next makes a placement the next version of the one of its name.
func (in *Input) next(p *api.Placement) {
	for i := range in.Subjects {
		if s := &in.Subjects[i]; s.Known && s.Placement.Key() == p.Key() {
			p.UID, p.Generation = s.Placement.UID, s.Placement.Generation+1
			s.Next = p
			return
		}
	}
	in.Subjects = append(in.Subjects, Subject{Next: p})
}
