package told

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// State is what is stored of a node, or as the inventory, undecoded.
type State struct {
	Arrival
	order uint64 // in which they came
	// read says that the view has it, warned that it was found to be unreadable.
	read, warned bool
	head         *head // nil before it was needed
	weight       int64 // of one that the view had no room for
}

// put holds a state in place of the one before.
func (n *Nodes) put(s *State) {
	if n.States == nil {
		n.States = map[string]*State{}
	}
	n.count++
	s.order = n.count
	n.States[s.Node] = s
}

// unread are those of some nodes that the view lacks, in the order in which they came.
func (n *Nodes) unread(of func(node string) bool) []*State {
	var out []*State
	for node, s := range n.States {
		if !s.read && of(node) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *State) int { return cmp.Compare(a.order, b.order) })
	return out
}

// head is what tells the newer of two states: which start of the agent it is of, and the how manieth.
type head struct {
	boot     string
	sequence uint64
	known    bool
}

// headBytes is within how many bytes agents tell it.
const headBytes = 256

func (s *State) number() *head {
	if s.head == nil {
		h := readHead(s.Body.Start(headBytes))
		s.head = &h
	}
	return s.head
}

// follows reports whether s, which came later, is known to be newer than another of its node, as a view would find.
func (s *State) follows(old *State) bool {
	was, is := old.number(), s.number()
	return was.known && is.known && (was.boot != is.boot || was.sequence < is.sequence)
}

// readHead finds boot and sequence at the beginning of JSON as agents write it, before anything that is nested.
func readHead(text []byte) (h head) {
	text, open := bytes.CutPrefix(text, []byte("{"))
	for open && (h.boot == "" || h.sequence == 0) {
		var key, value []byte
		if key, value, text, open = cutPair(text); !open {
			return head{}
		}
		switch string(key) {
		case `"boot"`:
			h.boot = string(value)
		case `"sequence"`:
			h.sequence, _ = strconv.ParseUint(string(value), 10, 64)
		}
	}
	h.known = open
	return h
}

// cutPair takes a key with its value, both plain, off the inside of an object.
func cutPair(text []byte) (key, value, rest []byte, ok bool) {
	pair, rest, more := bytes.Cut(text, []byte(","))
	key, value, ok = bytes.Cut(pair, []byte(":"))
	return key, value, rest, ok && more && !bytes.ContainsAny(pair, `{[\`)
}

// listed are the nodes that an inventory names, false when it has to be read whole for that.
func (s *State) listed() (nodes map[string]uint64, ok bool) {
	body, err := s.Body.JSON()
	if err != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		if key == "nodes" {
			return nodes, d.Decode(&nodes) == nil
		}
		var other json.RawMessage
		if d.Decode(&other) != nil {
			return nil, false
		}
	}
	return nil, false
}
