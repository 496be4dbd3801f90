package reads

// Pending is how many reads are not looked at yet, and how many bytes they are.
func (r *Reader) Pending() (messages, bytes int) {
	messages, bytes, _ = r.asked.Load().Pending()
	return messages, bytes
}
