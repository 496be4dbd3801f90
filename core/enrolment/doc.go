// Package enrolment says which credentials the agent of a member gets.
//
// Issue notes that a token was made for a member, Judge answers the statement of an agent whose signatures were
// verified. The room hub/enroller calls both. A token registers one key and is used up by that; the same key may
// trade it again, because an answer may be lost on its way. A registered key needs no token any more, however
// long its agent was away.
package enrolment
