package door

// SetPart has deletions made in parts of so many records. Nothing may run yet.
func (d *Door) SetPart(records int) { d.desk.Part = records }
