package schedule

// Values counts the values that the fleet keeps of a property, in use or not.
func (f *Fleet) Values(property string) int { return len(f.properties[property].values) }
