package reads

// Pending is how many reads are not looked at yet, and how many bytes they are.
func (r *Reader) Pending() (messages, bytes int) {
	messages, bytes, _ = r.asked.Load().Pending()
	return messages, bytes
}

// TakeSlots takes the place of all reads that a server is asked for.
func (r *Reader) TakeSlots() {
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
}

// FreeSlots gives the places back.
func (r *Reader) FreeSlots() {
	for range cap(r.slots) {
		<-r.slots
	}
}
