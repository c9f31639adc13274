//! The event scheduler: a hierarchical timing wheel over dense entities.
//!
//! Every *entity* (a directed link, a host's pull pacer, an endpoint's timer ...) has at most one pending event, so an
//! event is just (time, entity). Events leave in the order of time, whatever the order in which they were scheduled;
//! `Keyed::new` says what happens to those at the same time.
//!
//! The first level spans more than a packet's serialisation and propagation, so nearly every event is inserted once,
//! popped once, and costs the same however many are pending. Its slots are cache lines of entries, sized to hold a handful
//! each, which are sorted when their slot comes up: the caller can look at those to come ([`Wheel::ahead`]) and have the
//! memory of several of them fetched at once. Two coarser levels hold timers; they are emptied into finer ones as time
//! comes near.
//!
//! To cancel an event of the first level is to forget when it is due: its entry stays, and is skipped when it comes up.
//! An event is told apart by nothing but its time and its entity, so an entry that is left over from an event at the same
//! time is as good as its own. The coarse levels are lists through arrays indexed by entity, where a timer that moves a
//! hundred times leaves nothing behind.

#[cfg(test)]
mod tests;

/// Index of an entity.
pub type Entity = u32;

const NONE: u32 = u32::MAX;
/// When an entity without a pending event is due.
const IDLE: u64 = u64::MAX;

const COARSE_BITS: u32 = 10;
const COARSE: u64 = 1 << COARSE_BITS;
/// Events that a slot of the fine level should hold when every entity has one within the horizon.
const BATCH: usize = 3;

/// An event in the batch, as a number that sorts it: when it is due since the slot began, what decides among events at the
/// same time, and whose it is, 32 bits each. One number is compared without branches.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Keyed(u128);

impl Keyed {
    /// By time, and at the same time by a hash of salt, time and entity, which depends on nothing else and favours nobody.
    /// With the entity itself as tie-break, of two links whose packets reach a full queue in lockstep the one with the
    /// smaller number would win every single time.
    #[inline]
    fn new(salt: u64, origin: u64, Entry { offset, entity }: Entry) -> Self {
        let tie = tie(salt, origin + u64::from(offset), entity);
        Self(u128::from(offset) << 64 | u128::from(u64::from(tie) << 32 | u64::from(entity)))
    }

    #[inline]
    fn offset(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    fn entity(self) -> Entity {
        self.0 as u32
    }
}

/// Entries of a [`Slot`].
const ENTRIES: usize = 7;

/// An event of the fine level.
#[derive(Clone, Copy)]
struct Entry {
    /// Picoseconds since the slot began.
    offset: u32,
    entity: Entity,
}

/// The events of a slot of the fine level: one cache line, and full ones that came before.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Slot {
    entries: [Entry; ENTRIES],
    len: u32,
    /// The one that was filled before this, in [`Wheel::full`].
    before: u32,
}

const NO_EVENT: Slot = Slot { entries: [Entry { offset: 0, entity: 0 }; ENTRIES], len: 0, before: NONE };

/// Where an entity's event stands in a list of a coarse level.
#[derive(Clone, Copy)]
struct Link {
    next: u32,
    previous: u32,
    /// Number of the list; `NONE`: in no list.
    list: u32,
}

const UNLINKED: Link = Link { next: NONE, previous: NONE, list: NONE };

/// Which of several events at the same time is first: the one with the smallest of these. Two multiplications, so
/// that every bit of the time matters to every pair of entities: with one, two whose numbers differ by 13, say, keep
/// their order for milliseconds.
#[inline]
fn tie(salt: u64, time: u64, entity: Entity) -> u32 {
    let instant = (time ^ salt).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((instant ^ instant >> 32 ^ u64::from(entity)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// What decides among events at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Ties {
    salt: u64,
}

impl Ties {
    /// The least of these comes first, and of equal ones the least entity.
    #[inline]
    pub fn of(self, time: u64, entity: Entity) -> u32 {
        tie(self.salt, time, entity)
    }
}

/// A timing wheel. See the module's text.
pub struct Wheel {
    /// When the event of each entity is due, in picoseconds; [`IDLE`]: it has none.
    due: Vec<u64>,
    fine: Vec<Slot>,
    /// Full lines of slots with more events than one line holds, and the first that is free.
    full: Vec<Slot>,
    free: u32,
    /// The lists of the two coarse levels, one after the other.
    heads: Vec<Entity>,
    links: Vec<Link>,
    /// One bit per slot that is not empty, the coarse levels' after those of the fine one.
    occupied: Vec<u64>,
    /// Events of the current fine slot (and any scheduled into it while it is current), latest first.
    buffer: Vec<Keyed>,
    /// Where the current slot begins, in picoseconds.
    origin: u64,
    /// log2 of the width of a fine slot, in picoseconds.
    shift: u32,
    /// log2 of the number of fine slots.
    fine_bits: u32,
    /// One less than that number.
    mask: u64,
    /// Absolute number of the current fine slot: everything before it has been popped.
    slot: u64,
    pending: usize,
    /// No pending event is due before this time. Only asked while the batch is used up.
    quiet_until: u64,
    /// What ties are broken by, besides time and entity: another one, another order of simultaneous events.
    salt: u64,
}

impl Wheel {
    /// A wheel whose fine level spans at least `horizon` picoseconds, for `entities` entities (more can be added).
    ///
    /// `horizon` should be the longest (serialisation + propagation) of any link. `salt`, drawn from the run's seed,
    /// decides the order of events at the same time.
    pub fn new(horizon: u64, entities: usize, salt: u64) -> Self {
        let fine_bits = (entities / BATCH).next_power_of_two().trailing_zeros().clamp(6, 14);
        let fine = 1u64 << fine_bits;
        let shift = horizon.div_ceil(fine - 1).next_power_of_two().trailing_zeros().min(30);
        Self::of(fine_bits, shift, entities, salt)
    }

    fn of(fine_bits: u32, shift: u32, entities: usize, salt: u64) -> Self {
        let fine = 1u64 << fine_bits;
        Self {
            due: vec![IDLE; entities],
            fine: vec![NO_EVENT; fine as usize],
            full: Vec::new(),
            free: NONE,
            heads: vec![NONE; 2 * COARSE as usize],
            links: vec![UNLINKED; entities],
            occupied: vec![0; (fine + 2 * COARSE) as usize / 64],
            fine_bits,
            mask: fine - 1,
            origin: 0,
            buffer: Vec::with_capacity(64),
            shift,
            slot: 0,
            pending: 0,
            quiet_until: 0,
            salt,
        }
    }

    /// A wheel of the same kind without events, at time `now`.
    #[must_use]
    pub fn like(&self, now: u64) -> Self {
        let mut wheel = Self::of(self.fine_bits, self.shift, self.due.len(), self.salt);
        wheel.go_to(now >> wheel.shift);
        wheel
    }

    /// How many entities it has room for.
    pub fn entities(&self) -> usize {
        self.due.len()
    }

    /// All pending events: (entity, time).
    pub fn events(&self) -> impl Iterator<Item = (Entity, u64)> {
        (0..).zip(&self.due).filter(|(_, due)| **due != IDLE).map(|(entity, due)| (entity, *due))
    }

    /// Takes out all pending events, (entity, time); the time is `now` then.
    pub fn drain(&mut self, now: u64) -> Vec<(Entity, u64)> {
        let events: Vec<_> = self.events().collect();
        for &(entity, _) in &events {
            self.due[entity as usize] = IDLE;
            self.links[entity as usize] = UNLINKED;
        }
        for slot in &mut self.fine {
            (slot.len, slot.before) = (0, NONE);
        }
        self.full.clear();
        self.free = NONE;
        self.heads.fill(NONE);
        self.occupied.fill(0);
        self.buffer.clear();
        self.pending = 0;
        self.go_to(now >> self.shift);
        events
    }

    /// Slots of the fine level.
    fn slots(&self) -> u64 {
        self.mask + 1
    }

    /// What decides among events at the same time.
    #[inline]
    pub fn ties(&self) -> Ties {
        Ties { salt: self.salt }
    }

    /// First slot of a coarse level (1 or 2) in `occupied`.
    fn level_base(&self, level: u64) -> usize {
        (self.slots() + (level - 1) * COARSE) as usize
    }

    /// Makes room for entities up to `count`.
    pub fn grow(&mut self, count: usize) {
        if count > self.due.len() {
            self.due.resize(count, IDLE);
            self.links.resize(count, UNLINKED);
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.pending
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// When the event of `entity` is due, if it has one.
    #[inline]
    pub fn due(&self, entity: Entity) -> Option<u64> {
        let due = self.due[entity as usize];
        (due != IDLE).then_some(due)
    }

    /// Schedules the event of `entity`, which must have none pending, at `time`, which must not be in the past. The end of
    /// time, `u64::MAX`, is a picosecond earlier.
    #[inline]
    pub fn schedule(&mut self, entity: Entity, time: u64) {
        debug_assert_eq!(self.due[entity as usize], IDLE, "an entity has at most one event");
        self.pending += 1;
        let time = time.min(IDLE - 1);
        self.due[entity as usize] = time;
        self.quiet_until = self.quiet_until.min(time);
        self.insert(entity, time);
    }

    /// Moves the event of `entity` to `time`, scheduling it if there is none.
    pub fn reschedule(&mut self, entity: Entity, time: u64) {
        self.cancel(entity);
        self.schedule(entity, time);
    }

    #[inline]
    fn insert(&mut self, entity: Entity, time: u64) {
        let slot = time >> self.shift;
        let place = (slot & self.mask) as usize;
        // Of a slot that has passed, a great number.
        if slot.wrapping_sub(self.slot + 1) < self.mask {
            let line = &mut self.fine[place];
            if let Some(entry) = line.entries.get_mut(line.len as usize) {
                *entry = Entry { offset: (time - (slot << self.shift)) as u32, entity };
                line.len += 1;
                self.occupied[place / 64] |= 1 << (place % 64);
                return;
            }
        }
        self.insert_elsewhere(entity, time);
    }

    /// Where there is no room, or no line.
    #[inline(never)]
    fn insert_elsewhere(&mut self, entity: Entity, time: u64) {
        let slot = time >> self.shift;
        if slot <= self.slot {
            self.insert_now(entity, time);
        } else if slot - self.slot < self.slots() {
            self.spill((slot & self.mask) as usize);
            self.insert(entity, time);
        } else {
            self.insert_coarse(entity, slot);
        }
    }

    /// A slot's line is full: it goes aside, and leaves an empty one.
    fn spill(&mut self, place: usize) {
        let line = self.fine[place];
        let mut aside = self.free;
        if aside == NONE {
            aside = self.full.len() as u32;
            self.full.push(line);
        } else {
            self.free = self.full[aside as usize].before;
            self.full[aside as usize] = line;
        }
        self.fine[place] = Slot { before: aside, ..NO_EVENT };
    }

    /// Into the batch.
    fn insert_now(&mut self, entity: Entity, time: u64) {
        let entry = Entry { offset: (time - self.origin) as u32, entity };
        let event = Keyed::new(self.salt, self.origin, entry);
        let at = self.buffer.partition_point(|&e| e > event);
        self.buffer.insert(at, event);
    }

    fn insert_coarse(&mut self, entity: Entity, slot: u64) {
        let list = self.coarse_list(slot);
        let head = std::mem::replace(&mut self.heads[list as usize], entity);
        self.links[entity as usize] = Link { next: head, previous: NONE, list };
        if head != NONE {
            self.links[head as usize].previous = entity;
        }
        let place = self.level_base(1) + list as usize;
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    fn coarse_list(&self, slot: u64) -> u32 {
        let (turn, now) = (slot >> self.fine_bits, self.slot >> self.fine_bits);
        if turn - now < COARSE {
            return (turn & (COARSE - 1)) as u32;
        }
        let (turn, now) = (turn >> COARSE_BITS, now >> COARSE_BITS);
        // What lies beyond the last level waits in its farthest slot and is sorted in again from there.
        let turn = turn.min(now + COARSE - 1);
        (COARSE + (turn & (COARSE - 1))) as u32
    }

    /// Cancels the event of `entity`, if it has one.
    pub fn cancel(&mut self, entity: Entity) {
        if std::mem::replace(&mut self.due[entity as usize], IDLE) == IDLE {
            return;
        }
        self.pending -= 1;
        let Link { next, previous, list } = self.links[entity as usize];
        if list == NONE {
            return;
        }
        self.links[entity as usize] = UNLINKED;
        if previous == NONE {
            self.heads[list as usize] = next;
            if next == NONE {
                let place = self.level_base(1) + list as usize;
                self.occupied[place / 64] &= !(1 << (place % 64));
            }
        } else {
            self.links[previous as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
    }

    /// Removes and returns the earliest event: (time, entity).
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Entity)> {
        loop {
            if self.buffer.is_empty() && !self.advance() {
                return None;
            }
            let event = self.buffer.pop()?;
            let (time, entity) = (self.origin + event.offset(), event.entity());
            // Another time, or none: it was cancelled.
            if self.due[entity as usize] == time {
                self.due[entity as usize] = IDLE;
                self.pending -= 1;
                return Some((time, entity));
            }
        }
    }

    /// What is left of the current slot, in events. Of none, the next [`Wheel::pop`] will move on to another slot;
    /// [`Wheel::advance`] does so beforehand.
    #[inline]
    pub fn batch(&self) -> usize {
        self.buffer.len()
    }

    /// Whose event comes after `n` others, if it is in the current slot, too. It may have been cancelled.
    #[inline]
    pub fn ahead(&self, n: usize) -> Option<Entity> {
        self.buffer.len().checked_sub(n + 1).map(|at| self.buffer[at].entity())
    }

    /// Removes and returns the earliest event, if it is due before `limit`. Events from `limit` on can be scheduled afterwards.
    #[inline]
    pub fn pop_before(&mut self, limit: u64) -> Option<(u64, Entity)> {
        self.pop_if(limit, |_, _| true)
    }

    /// Removes and returns the earliest event, if it comes before one of `entity` at `time` that is not in the wheel. Events from then on
    /// can be scheduled afterwards.
    #[inline]
    pub fn pop_ahead_of(&mut self, time: u64, entity: Entity) -> Option<(u64, Entity)> {
        let salt = self.salt;
        let decides = |due, other| due < time || (tie(salt, due, other), other) < (tie(salt, time, entity), entity);
        self.pop_if(time.saturating_add(1), decides)
    }

    #[inline]
    fn pop_if(&mut self, limit: u64, condition: impl Fn(u64, Entity) -> bool) -> Option<(u64, Entity)> {
        loop {
            if self.buffer.is_empty() && (limit <= self.quiet_until || !self.advance_before(limit)) {
                return None;
            }
            let event = *self.buffer.last()?;
            let (time, entity) = (self.origin + event.offset(), event.entity());
            if time >= limit || !condition(time, entity) {
                return None;
            }
            self.buffer.pop();
            if self.due[entity as usize] == time {
                self.due[entity as usize] = IDLE;
                self.pending -= 1;
                return Some((time, entity));
            }
        }
    }

    /// When the first event is due; the end of time if none is pending.
    pub fn earliest(&self) -> u64 {
        let valid = |time: u64, entity: Entity| if self.due[entity as usize] == time { time } else { IDLE };
        let in_batch = |event: &Keyed| valid(self.origin + event.offset(), event.entity());
        let batch = self.buffer.iter().rev().map(in_batch).find(|&time| time != IDLE);
        batch.unwrap_or_else(|| self.earliest_fine().min(self.earliest_near()).min(self.earliest_far()))
    }

    fn earliest_fine(&self) -> u64 {
        let (slots, from) = (self.slots() as usize, (self.slot & self.mask) as usize);
        let mut places = (from..slots).chain(0..from);
        places
            .find_map(|place| {
                let (word, bit) = (place / 64, place % 64);
                if self.occupied[word] >> bit & 1 == 0 {
                    return None;
                }
                let turn = (self.slot & !self.mask) + if place < from { self.slots() } else { 0 };
                let origin = (turn | place as u64) << self.shift;
                let (mut line, mut first) = (&self.fine[place], IDLE);
                let mut entries = &line.entries[..line.len as usize];
                loop {
                    for &Entry { offset, entity } in entries {
                        let time = origin + u64::from(offset);
                        if self.due[entity as usize] == time {
                            first = first.min(time);
                        }
                    }
                    let Some(before) = self.full.get(line.before as usize) else { break };
                    (line, entries) = (before, &before.entries);
                }
                (first != IDLE).then_some(first)
            })
            .unwrap_or(IDLE)
    }

    /// The first event of level 1: that of its next list.
    fn earliest_near(&self) -> u64 {
        let base = self.level_base(1);
        let now = (self.slot >> self.fine_bits & (COARSE - 1)) as usize;
        let ahead = self.next_occupied(base + now, base + COARSE as usize);
        ahead.or_else(|| self.next_occupied(base, base + now)).map_or(IDLE, |place| self.earliest_of(place - base))
    }

    /// The first event of level 2. Its lists may hold what lies beyond the last of them.
    fn earliest_far(&self) -> u64 {
        (COARSE as usize..2 * COARSE as usize).map(|list| self.earliest_of(list)).min().unwrap_or(IDLE)
    }

    /// The first event of a list of the coarse levels.
    fn earliest_of(&self, list: usize) -> u64 {
        let (mut entity, mut first) = (self.heads[list], IDLE);
        while entity != NONE {
            first = first.min(self.due[entity as usize]);
            entity = self.links[entity as usize].next;
        }
        first
    }

    /// No event is due before this time; the end of time if none is pending. It depends on how far the wheel has turned.
    pub fn next_bound(&self) -> u64 {
        if self.pending == 0 {
            return IDLE;
        }
        if let Some(event) = self.buffer.last() {
            return self.origin + event.offset();
        }
        let from = (self.slot & self.mask) as usize;
        let bound = match self.next_occupied(from, self.slots() as usize) {
            Some(place) => ((self.slot & !self.mask) | place as u64) << self.shift,
            None => self.next_turn().0 << self.fine_bits << self.shift,
        };
        bound.max(self.quiet_until)
    }

    /// Moves to the next slot that holds events and empties it into the batch, which must be used up. False if nothing
    /// is pending.
    pub fn advance(&mut self) -> bool {
        self.advance_before(IDLE)
    }

    /// Does so if that slot begins before a time; false if not.
    pub fn advance_before(&mut self, limit: u64) -> bool {
        debug_assert!(self.buffer.is_empty(), "the batch is used up first");
        if self.pending == 0 {
            self.quiet_until = IDLE;
            return false;
        }
        loop {
            let from = (self.slot & self.mask) as usize;
            if let Some(place) = self.next_occupied(from, self.slots() as usize) {
                let slot = (self.slot & !self.mask) | place as u64;
                self.quiet_until = slot << self.shift;
                if self.quiet_until >= limit {
                    return false;
                }
                self.go_to(slot);
                self.empty_into_buffer(place);
                return true;
            }
            let (turn, boundary) = self.next_turn();
            self.quiet_until = turn << self.fine_bits << self.shift;
            if self.quiet_until >= limit {
                return false;
            }
            self.turn(turn, boundary);
            if !self.buffer.is_empty() {
                return true;
            }
        }
    }

    fn go_to(&mut self, slot: u64) {
        self.slot = slot;
        self.origin = slot << self.shift;
    }

    #[inline]
    fn empty_into_buffer(&mut self, place: usize) {
        self.occupied[place / 64] &= !(1 << (place % 64));
        let Slot { entries, len, before: mut full } = self.fine[place];
        self.fine[place].len = 0;
        self.fine[place].before = NONE;
        self.add_to_buffer(&entries[..len as usize]);
        while full != NONE {
            let Slot { entries, before, .. } = self.full[full as usize];
            self.add_to_buffer(&entries);
            self.full[full as usize].before = std::mem::replace(&mut self.free, full);
            full = before;
        }
        sort(&mut self.buffer);
    }

    #[inline]
    fn add_to_buffer(&mut self, entries: &[Entry]) {
        let (salt, origin) = (self.salt, self.origin);
        self.buffer.extend(entries.iter().map(|&entry| Keyed::new(salt, origin, entry)));
    }

    /// Nothing is left before the fine level wraps round: the next of its turns that holds events, or at which the coarsest level
    /// has to be looked at; whether the latter.
    fn next_turn(&self) -> (u64, bool) {
        let turn = self.slot >> self.fine_bits;
        let base = self.level_base(1);
        let index = (turn & (COARSE - 1)) as usize;
        // Level 1 covers the COARSE turns from now on, cyclically: the one that holds `turn` itself is empty.
        let ahead = self
            .next_occupied(base + index + 1, base + COARSE as usize)
            .map(|place| place - base - index)
            .or_else(|| self.next_occupied(base, base + index + 1).map(|place| place + COARSE as usize - base - index));
        // Level 2 must be emptied before level 1 passes the boundary of one of its slots.
        let boundary = COARSE - (turn & (COARSE - 1));
        let wrapped = self.next_occupied(0, self.slots() as usize).map(|_| 1);
        match [ahead.map(|a| a as u64), wrapped].into_iter().flatten().min() {
            Some(near) => (turn + near.min(boundary), near >= boundary),
            None => (turn + boundary + self.empty_lists(turn) * COARSE, true),
        }
    }

    /// How many lists of level 2 are empty from the next one on: time passes over them at once.
    fn empty_lists(&self, turn: u64) -> u64 {
        let base = self.level_base(2);
        let next = (((turn >> COARSE_BITS) + 1) & (COARSE - 1)) as usize;
        let onwards = self.next_occupied(base + next, base + COARSE as usize).map(|place| place - base - next);
        let wrapped = || self.next_occupied(base, base + next).map(|place| place + COARSE as usize - base - next);
        onwards.or_else(wrapped).unwrap_or(0) as u64
    }

    /// Goes to that turn, and sorts in what waited for it in the coarser levels.
    fn turn(&mut self, turn: u64, boundary: bool) {
        self.go_to(turn << self.fine_bits);
        if boundary {
            self.sort_in((COARSE + ((turn >> COARSE_BITS) & (COARSE - 1))) as usize);
        }
        self.sort_in((turn & (COARSE - 1)) as usize);
        // Events of the turn's first slot may wait in the fine level, too: they belong to the same batch.
        if !self.buffer.is_empty() {
            self.empty_into_buffer(0);
        }
    }

    /// Puts the events of a coarse list to where they belong now.
    fn sort_in(&mut self, list: usize) {
        let place = self.level_base(1) + list;
        self.occupied[place / 64] &= !(1 << (place % 64));
        let mut entity = std::mem::replace(&mut self.heads[list], NONE);
        while entity != NONE {
            let Link { next, .. } = std::mem::replace(&mut self.links[entity as usize], UNLINKED);
            self.insert(entity, self.due[entity as usize]);
            entity = next;
        }
    }

    /// The first occupied slot in `from..to`.
    #[inline]
    fn next_occupied(&self, from: usize, to: usize) -> Option<usize> {
        if from >= to {
            return None;
        }
        let mut word = from / 64;
        let mut bits = self.occupied[word] & (!0 << (from % 64));
        loop {
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                return (place < to).then_some(place);
            }
            word += 1;
            if word * 64 >= to {
                return None;
            }
            bits = self.occupied[word];
        }
    }
}

/// Sorts events, the latest first. Which of a few comes first is as good as random, so a sort with branches would guess
/// wrong every other time: here each event counts those before it.
#[inline]
fn sort(events: &mut [Keyed]) {
    const FEW: usize = 8;
    let n = events.len();
    if n > FEW {
        return events.sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut sorted = [Keyed::default(); FEW];
    for (i, event) in events.iter().enumerate() {
        let before = events[..i].iter().map(|e| usize::from(e >= event)).sum::<usize>();
        let after = events[i..].iter().map(|e| usize::from(e > event)).sum::<usize>();
        sorted[(before + after) % FEW] = *event;
    }
    events.copy_from_slice(&sorted[..n]);
}
