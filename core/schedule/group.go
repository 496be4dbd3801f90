package schedule

// group holds the candidates that every constraint sees alike: those of the same domains. One
// judgement serves them all.
type group struct {
	domains  []uint32 // by constraint
	rows     []int32  // best first; picked ones are cut off
	spread   int32
	violated int // index of the violated hard constraint, or -1
}

// groupsOf divides ranked rows by their domains, keeping their order within each group.
func groupsOf(constraints []constraint, ranked []int32) []group {
	of := make([]int32, len(ranked))
	var groups []group
	count := int32(min(1, len(ranked)))
	for i := range constraints {
		count = refine(&constraints[i], ranked, of, count)
	}
	groups = make([]group, count)
	domains := make([]uint32, int(count)*len(constraints))
	sizes := make([]int32, count)
	for _, g := range of {
		sizes[g]++
	}
	rows := make([]int32, len(ranked))
	for g, size := range sizes {
		groups[g] = group{domains: domains[:len(constraints)], rows: rows[:0:size]}
		domains, rows = domains[len(constraints):], rows[size:]
	}
	for k, row := range ranked {
		g := &groups[of[k]]
		if len(g.rows) == 0 {
			for i := range constraints {
				g.domains[i] = constraints[i].domain(row)
			}
		}
		g.rows = append(g.rows, row)
	}
	return groups
}

// refine splits the groups by the domains of one constraint and returns their new number.
func refine(c *constraint, ranked, of []int32, count int32) int32 {
	numbers := newPairs(int(count), len(c.counts)+1)
	for k, row := range ranked {
		of[k] = numbers.number(uint32(of[k]), c.domain(row))
	}
	return numbers.next
}

// densePairs is the largest table of pairs that is kept as an array.
const densePairs = 1 << 16

// pairs numbers pairs in order of first use, from 0.
type pairs struct {
	width uint32
	dense []int32 // number + 1
	known map[uint64]int32
	next  int32
}

func newPairs(first, second int) *pairs {
	p := &pairs{width: uint32(second)}
	if size := first * second; size <= densePairs {
		p.dense = make([]int32, size)
	} else {
		p.known = map[uint64]int32{}
	}
	return p
}

func (p *pairs) number(a, b uint32) int32 {
	if p.dense != nil {
		slot := &p.dense[a*p.width+b]
		if *slot == 0 {
			p.next++
			*slot = p.next
		}
		return *slot - 1
	}
	key := uint64(a)<<32 | uint64(b)
	n, known := p.known[key]
	if !known {
		n = p.next
		p.known[key] = n
		p.next++
	}
	return n
}
