package sim

// Source is a sequence of numbers that a seed fixes (splitmix64).
type Source struct{ state uint64 }

// NewSource returns the sequence of seed.
func NewSource(seed uint64) *Source { return &Source{state: seed} }

// Next returns the next 64 bits.
func (s *Source) Next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1; n must be positive.
func (s *Source) Below(n int) int { return int(s.Next() % uint64(n)) }

// Chance is true once in n times on average.
func (s *Source) Chance(n int) bool { return s.Below(n) == 0 }

// Pick returns one of the choices.
func Pick[T any](s *Source, choices ...T) T { return choices[s.Below(len(choices))] }

// Shuffle puts the values in another order, in place.
func Shuffle[T any](s *Source, values []T) {
	for i := len(values) - 1; i > 0; i-- {
		k := s.Below(i + 1)
		values[i], values[k] = values[k], values[i]
	}
}
