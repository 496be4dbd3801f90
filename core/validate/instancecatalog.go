package validate

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func validateCatalog(c *api.InstanceCatalog) rules {
	var root *strict.Place
	f := outsideRules(api.KindInstanceCatalog, c)
	f.Subdomain(c.Name, root.In("metadata", "name"))
	f.membersAnnotation(c.Annotations, root.In("metadata", "annotations"))
	types := root.In("spec", "types")
	seen := make(map[string]int)
	for i := range c.Spec.Types {
		t, at := &c.Spec.Types[i], types.Item(i)
		if t.Name == "" {
			f.Add(at.Child("name"), "nothing", "a name", nil)
		}
		f.labelValue(t.Name, at.Child("name"))
		if j, ok := seen[t.Name]; ok {
			f.Add(at.Child("name"), strict.Quote(t.Name), fmt.Sprintf("each type once; item %d has this name", j), nil)
		}
		seen[t.Name] = i
		if t.Pods != nil && *t.Pods < 0 {
			f.Add(at.Child("pods"), number(*t.Pods), "0 or more", nil)
		}
		f.labels(t.Labels, at.Child("labels"))
		for j := range t.Offerings {
			f.offering(&t.Offerings[j], at.Child("offerings").Item(j))
		}
	}
	return f
}

func (fs rules) offering(o *api.InstanceOffering, at *strict.Place) {
	fs.labelValue(o.Zone, at.Child("zone"))
	if o.CapacityType == "" {
		fs.Add(at.Child("capacityType"), "nothing", oneOf(offeringTypes), nil)
	}
	fs.choice(o.CapacityType, at.Child("capacityType"), offeringTypes...)
}

var offeringTypes = []string{api.CapacityReserved, api.CapacitySpot, api.CapacityOnDemand}
