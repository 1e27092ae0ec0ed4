package codehook

func (m *Moment) unwrap()                 {}
func (m *Moment) openCodeMessage() string { return "" }
func (m *Moment) replyText() string       { return "" }
func (f *firing) system()                 {}
