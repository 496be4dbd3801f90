package store

import (
	"reflect"

	"flotilla/subjects"
)

// Access is state as one room has it: the table of records in package subjects says what it reads and writes. To ask
// for more is a fault of the room, which shows as soon as the room is made: it panics.
type Access struct {
	state *State
	room  subjects.Room
}

// As is the access of a room.
func (s *State) As(room subjects.Room) *Access { return &Access{state: s, room: room} }

// Reads is the table of a family that the room reads.
func Reads[T any](a *Access, family subjects.Family) *Table[T] {
	if err := subjects.MayRead(a.room, family, reflect.TypeFor[T]()); err != nil {
		panic(err)
	}
	return TableOf[T](a.state, family)
}

// Records is the table of a family, for the room that writes it.
type Records[T any] struct{ *Table[T] }

// Writes are the records of a family that the room writes.
func Writes[T any](a *Access, family subjects.Family) *Records[T] {
	if err := subjects.MayWrite(a.room, family, reflect.TypeFor[T]()); err != nil {
		panic(err)
	}
	return &Records[T]{TableOf[T](a.state, family)}
}

// Put changes or (revision 0) creates the record of a name.
func (r *Records[T]) Put(name string, value *T, revision uint64) Op {
	return Put(r.Key(name), value, revision)
}

// Share is Put of a value that nobody changes any more: tables take it as it is, and read nothing back. It must be
// what its own JSON reads as.
func (r *Records[T]) Share(name string, value *T, revision uint64) Op {
	op := Put(r.Key(name), value, revision)
	op.shared = value
	return op
}

// Delete removes the record of a name; its marker is kept for 24 h.
func (r *Records[T]) Delete(name string, revision uint64) Op { return Delete(r.Key(name), revision) }
