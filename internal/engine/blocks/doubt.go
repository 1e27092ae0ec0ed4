package blocks

// doubtful reports whether something is wrong with a stream after its server has stopped: its
// settings, its index, a missing block, or the lengths and numbers of a block that has changed
// since the server started. Another program may have changed it.
//
// If a stream is not doubtful, the next start does not read its blocks. The next server then trusts
// a wrong number: it silently cuts off the block, treats its messages as deleted, or counts up to
// the number until the memory is used up. Damage in the rest of a record is harmless until the
// record is read. The check that runs beside that server hashes the records and finds such damage.
// So only a block that looks wrong is hashed here.
func (p place) doubtful(before, now *sealedStream) bool {
	if p.readable() != nil {
		return false // the start reports it
	}
	s := &stream{place: p, index: p.readableIndex(), exact: true}
	numbers, err := p.numbers()
	if err != nil || s.badSettings() || s.index == nil && len(numbers) > 0 || s.index.misses(numbers) {
		return true
	}
	for _, n := range numbers {
		if name := blockName(n); before == nil || before.Files[name] != now.Files[name] {
			if !s.isConsistent(n) {
				return true
			}
		}
	}
	return false
}

// misses reports whether a block with messages is missing.
func (x *index) misses(numbers []uint32) bool {
	if x == nil {
		return false
	}
	there := make(map[uint32]bool)
	for _, n := range numbers {
		there[n] = true
	}
	for n, b := range x.blocks {
		if b.live() > 0 && !there[n] {
			return true
		}
	}
	return false
}

// isConsistent reports whether the lengths of a block lead from record to record to its end, and
// its numbers are those of the index. It scans a block that looks wrong to make sure.
func (s *stream) isConsistent(n uint32) bool {
	data, err := readBlock(s.block(n))
	if err != nil {
		return false
	}
	x, known := s.index.blocks[n]
	first, last, ok := walk(data, x.first)
	if ok && (!known || x.live() == 0 || first == x.first && last == x.last) {
		return true
	}
	s.blocks = []block{{n, scan(data, newHash(s.name, n))}}
	s.marked = marks(s.blocks)
	_, bad := s.finding(n, newCount(s))
	return !bad
}

// walk reads the records of a block without hashing them. It returns the numbers of the first
// message that is not below from, and of the last message. ok reports whether all lengths fit and
// the numbers grow.
func walk(data []byte, from uint64) (first, last uint64, ok bool) {
	for at := 0; at < len(data); {
		r, parts, ok := head(data, at)
		if !ok {
			return first, last, false
		}
		at = r.end()
		empty := parts.subject == headSize
		switch {
		case r.kind == mark && empty:
			continue
		case r.kind == mark, r.kind == deleted && !empty, r.sequence <= last:
			return first, last, false
		}
		if last = r.sequence; first == 0 && r.sequence >= from {
			first = r.sequence
		}
	}
	return first, last, true
}
