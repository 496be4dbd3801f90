package schedule

// Kept counts the values that the fleet keeps of a property, in use or not, once somebody asks for it.
func (f *Fleet) Kept(property string) int { return len(f.property(property).values) }

// Columns counts the columns of labels and of properties.
func (f *Fleet) Columns() (labels, properties int) {
	return len(f.asked.labels), len(f.asked.properties)
}

// MostColumns is how many there are of each at most.
const MostColumns = mostColumns

// Pairs numbers pairs as groups are numbered, with tables of these sizes.
func Pairs(first, second int, pairs [][2]uint32) []int32 {
	p := newPairs(first, second)
	var numbers []int32
	for _, pair := range pairs {
		numbers = append(numbers, p.number(pair[0], pair[1]))
	}
	return append(numbers, p.next)
}
