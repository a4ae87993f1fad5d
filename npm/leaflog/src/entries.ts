import { LeaflogError } from "./errors";
import { type Handle, native } from "./native";
import type { AgentMessage, SessionContext, SessionEntry, SessionMessageEntry } from "./types";

/** Fields of an entry that were given as objects: the entry has those very objects. */
type Given = Partial<Record<string, unknown>>;

/** Positions have 32 bits; the rest of a stamp is the generation. */
const POSITIONS = 0xffffffff;

/** How far ahead a group of messages is asked for; native code ends it by size. */
const AHEAD = 256;

/** What gives a message of a context: an entry's position times eight, and one of these. */
const MESSAGE = 0;
const CUSTOM = 1;
const BRANCH_SUMMARY = 2;
const REMOTE_COMPACTION = 4;

export interface ContextPlan {
	state: SessionContext;
	items: number[];
}

/**
 * The entries of one session as objects. An entry handed out is the same object each time, and so
 * is its message. Objects are made when somebody asks; a message is parsed at its first touch,
 * together with those that follow it.
 */
export class Entries {
	#handle: Handle;
	#generation = -1;
	#count = 0;
	/** By position; an entry that nobody asked for is absent. */
	#list: (SessionEntry | undefined)[] = [];
	/** By position: messages that were parsed or given. */
	#messages: (AgentMessage | undefined)[] = [];
	/** The positions of entries whose message is still an accessor. */
	#untouched = new Set<number>();
	/** Every position before this is in the list. */
	#filled = 0;
	/** By id: appended entries nobody asked for yet. */
	#given = new Map<string, Given>();

	constructor(handle: Handle) {
		this.#handle = handle;
	}

	/** The entry `id` was appended with these objects. */
	give(id: string, fields: Given): void {
		this.#given.set(id, fields);
	}

	/** All entries, in a fresh array. */
	all(): SessionEntry[] {
		this.#sync();
		if (this.#filled < this.#count) {
			this.#make(undefined, this.#filled);
			this.#filled = this.#count;
		}
		return this.#list.slice() as SessionEntry[];
	}

	/** The entry of an id. */
	get(id: string): SessionEntry | undefined {
		this.#sync();
		const position = native.find(this.#handle, id);
		return position < 0 ? undefined : this.#at(position);
	}

	leaf(): SessionEntry | undefined {
		this.#sync();
		const position = native.leaf(this.#handle);
		return position < 0 ? undefined : this.#at(position);
	}

	/** Keeps the objects of an entry whose append failed: it is the last one, and the leaf. */
	giveFailed(fields: Given): void {
		const count = native.stamp(this.#handle) % POSITIONS;
		if (native.leaf(this.#handle) !== count - 1 || this.#list[count - 1] !== undefined) return;
		const [entry] = JSON.parse(native.texts(this.#handle, Uint32Array.of(count - 1), 0)) as SessionEntry[];
		if (entry !== undefined) this.#given.set(entry.id, fields);
	}

	/** The entries of positions that native code gave as JSON. */
	many(positions: number[]): SessionEntry[] {
		this.#sync();
		const missing = positions.filter((position) => this.#list[position] === undefined);
		if (missing.length > 0) this.#make(Uint32Array.from(missing), 0);
		return positions.map((position) => this.#list[position] as SessionEntry);
	}

	#at(position: number): SessionEntry {
		if (this.#list[position] === undefined) this.#make(Uint32Array.of(position), 0);
		return this.#list[position] as SessionEntry;
	}

	/** Looks at what native code has now. */
	#sync(): void {
		const stamp = native.stamp(this.#handle);
		const count = stamp % POSITIONS;
		const generation = (stamp - count) / POSITIONS;
		if (generation !== this.#generation) {
			if (this.#generation >= 0) this.#replaced();
			this.#generation = generation;
		}
		this.#count = count;
		if (this.#given.size > 0) this.#settle();
	}

	/** Makes the entries that were appended since. */
	#settle(): void {
		const positions: number[] = [];
		for (const id of this.#given.keys()) {
			const position = native.find(this.#handle, id);
			if (position >= 0 && this.#list[position] === undefined) positions.push(position);
		}
		if (positions.length > 0) this.#make(Uint32Array.from(positions), 0);
		this.#given.clear();
	}

	/** Another process replaced the file: the same entries stand at other positions (R53d). */
	#replaced(): void {
		const [list, messages] = [this.#list, this.#messages];
		const untouched = this.#untouched;
		[this.#list, this.#messages, this.#untouched, this.#filled] = [[], [], new Set(), 0];
		this.#take(list, messages, untouched);
	}

	#take(
		list: (SessionEntry | undefined)[],
		messages: (AgentMessage | undefined)[],
		untouched: ReadonlySet<number>,
	): void {
		list.forEach((entry, before) => {
			if (entry === undefined || typeof entry.id !== "string") return;
			const position = native.find(this.#handle, entry.id);
			if (position < 0 || this.#list[position] !== undefined) return;
			this.#list[position] = entry;
			this.#messages[position] = messages[before];
			if (untouched.has(before)) {
				Object.defineProperty(entry, "message", accessor(this, position));
				this.#untouched.add(position);
			}
		});
	}

	/** Makes the entries at positions, or all from `from` on. */
	#make(positions: Uint32Array | undefined, from: number): void {
		const list = this.#list;
		const fields = JSON.parse(native.light(this.#handle, positions, from)) as (string | null | 0)[];
		const read: number[] = [];
		let next = 0;
		for (let at = 0; at < fields.length; next++) {
			const position = positions === undefined ? from + next : (positions[next] as number);
			const id = fields[at++];
			if (id === 0) {
				if (list[position] === undefined) read.push(position);
				continue;
			}
			const parentId = fields[at++] as string | null;
			const timestamp = fields[at++] as string;
			if (list[position] !== undefined) continue;
			const given = this.#given.get(id as string)?.message as AgentMessage | undefined;
			const message = given ?? this.#messages[position];
			if (message === undefined) {
				list[position] = light(this, position, id as string, parentId, timestamp);
				this.#untouched.add(position);
			} else {
				this.#messages[position] = message;
				list[position] = { type: "message", id: id as string, parentId, timestamp, message };
			}
		}
		this.#read(read);
	}

	/** Parses whole entries. */
	#read(positions: number[]): void {
		for (const [position, entry] of this.#parse<SessionEntry>(native.texts, positions)) {
			Object.assign(entry, this.#given.get(entry.id));
			if (entry.type === "message" && this.#messages[position] !== undefined) {
				entry.message = this.#messages[position];
			}
			this.#list[position] = entry;
		}
	}

	*#parse<Value>(
		ask: (handle: Handle, positions: Uint32Array, start: number) => string,
		positions: number[],
	): Generator<[position: number, value: Value]> {
		const asked = Uint32Array.from(positions);
		for (let start = 0; start < positions.length; ) {
			const group = JSON.parse(ask(this.#handle, asked, start)) as Value[];
			for (const value of group) yield [positions[start++] as number, value];
		}
	}

	/** @internal Takes the place of the accessor of a message that is touched. */
	touch(entry: object, position: number): AgentMessage | undefined {
		if (this.#messages[position] === undefined) {
			const positions = [position];
			for (let next = position + 1; positions.length < AHEAD && this.#untouched.has(next); next++) {
				if (this.#messages[next] === undefined) positions.push(next);
			}
			const group = JSON.parse(native.messages(this.#handle, Uint32Array.from(positions), 0)) as AgentMessage[];
			group.forEach((message, at) => {
				this.#messages[positions[at] as number] = message;
			});
		}
		const message = this.#messages[position];
		// Something that inherits from the entry may have been asked.
		if (this.#list[position] === entry) this.settle(entry, position, message);
		return message;
	}

	/** @internal Makes the message a plain property. */
	settle(entry: object, position: number, message: unknown): void {
		if (this.#list[position] === entry) this.#untouched.delete(position);
		Object.defineProperty(entry, "message", { value: message, writable: true, enumerable: true, configurable: true });
	}

	/** The messages of a context, of which those of entries are the entries' own. */
	context(plan: ContextPlan, build: MessageBuilder): SessionContext {
		this.#sync();
		const { state, items } = plan;
		const missing: number[] = [];
		const others: number[] = [];
		for (const item of items) {
			const position = Math.floor(item / 8);
			if (item % 8 !== MESSAGE) others.push(position);
			else if (
				this.#messages[position] === undefined &&
				(this.#list[position] === undefined || this.#untouched.has(position))
			) {
				missing.push(position);
			}
		}
		for (const [position, message] of this.#parse<AgentMessage>(native.messages, missing)) {
			this.#messages[position] = message;
		}
		this.many(others);
		state.messages = items.map((item) => {
			const position = Math.floor(item / 8);
			const entry = this.#list[position];
			if (item % 8 !== MESSAGE) return build(item % 8, entry as SessionEntry);
			const message =
				entry === undefined || this.#untouched.has(position) ? undefined : (entry as SessionMessageEntry).message;
			return (message ?? this.#messages[position]) as AgentMessage;
		});
		return state;
	}

	/** Messages that are objects here already, and not those that can still be read. */
	*touched(): Generator<SessionEntry> {
		this.#sync();
		for (const [position, entry] of this.#list.entries()) {
			if (entry !== undefined && !this.#untouched.has(position)) yield entry;
		}
	}

	/**
	 * Hands native code the texts of the objects that were changed in place since they were handed
	 * out or given: whatever is written next as a whole has them.
	 */
	writeChanges(): void {
		this.#sync();
		const positions: number[] = [];
		const texts: string[] = [];
		const suspects: number[] = [];
		for (const position of this.#messages.keys()) {
			if (this.#messages[position] !== undefined && this.#list[position] === undefined) this.#at(position);
		}
		const untouched = [...this.#untouched];
		if (untouched.length > 0) {
			const fields = JSON.parse(native.light(this.#handle, Uint32Array.from(untouched), 0)) as unknown[];
			untouched.forEach((position, at) => {
				const entry = this.#list[position] as SessionEntry;
				const same =
					entry.type === "message" &&
					entry.id === fields[at * 3] &&
					entry.parentId === fields[at * 3 + 1] &&
					entry.timestamp === fields[at * 3 + 2] &&
					Object.keys(entry).length === 5;
				// The message may be here and changed, by way of a context.
				if (!same || this.#messages[position] !== undefined) suspects.push(position);
			});
		}
		for (const position of this.#list.keys()) {
			if (this.#list[position] !== undefined && !this.#untouched.has(position)) suspects.push(position);
		}
		for (const position of suspects) {
			const text = JSON.stringify(this.#list[position]);
			if (!native.differs(this.#handle, position, text)) continue;
			// The stored text may say the same in another spelling.
			const [stored] = JSON.parse(native.texts(this.#handle, Uint32Array.of(position), 0)) as unknown[];
			if (JSON.stringify(stored) === text) continue;
			positions.push(position);
			texts.push(text);
		}
		if (positions.length > 0) native.replaceTexts(this.#handle, Uint32Array.from(positions), texts);
	}

	/** The manager is about to hold another session; entries that were handed out stay readable. */
	detach(): void {
		this.#sync();
		if (this.#untouched.size > 0) this.#handle = native.snapshot(this.#handle);
	}

	/** The entries of a manager's session now, with the objects of what it held before. */
	static successor(handle: Handle, before: CapturedEntries): Entries {
		const entries = new Entries(handle);
		entries.#sync();
		entries.#take(before.list, before.messages, before.untouched);
		const parents = entries.#parents();
		for (const [position, entry] of entries.#list.entries()) {
			const parentId = parents[position] as string | null;
			if (entry === undefined || entry.parentId === parentId) continue;
			// It hangs on another entry now; where it was it stays what it was.
			entries.#list[position] = { ...entry, parentId };
			entries.#untouched.delete(position);
		}
		return entries;
	}

	/** The parents of all entries. */
	#parents(): (string | null | undefined)[] {
		const fields = JSON.parse(native.light(this.#handle, undefined, 0)) as (string | null | 0)[];
		const parents: (string | null | undefined)[] = [];
		const read: number[] = [];
		for (let at = 0; at < fields.length; ) {
			if (fields[at] === 0) {
				read.push(parents.length);
				parents.push(undefined);
				at++;
			} else {
				parents.push(fields[at + 1] as string | null);
				at += 3;
			}
		}
		for (const [position, entry] of this.#parse<SessionEntry>(native.texts, read)) {
			parents[position] = entry.parentId;
		}
		return parents;
	}

	/** The objects as they are now, for {@link Entries.restored}. */
	capture(): CapturedEntries {
		this.#sync();
		return {
			generation: this.#generation,
			list: this.#list.slice(),
			messages: this.#messages.slice(),
			untouched: new Set(this.#untouched),
			filled: this.#filled,
		};
	}

	/** The entries of a manager that went back to what it held when they were captured. */
	static restored(handle: Handle, state: CapturedEntries): Entries {
		const entries = new Entries(handle);
		entries.#generation = state.generation;
		entries.#list = state.list.slice();
		entries.#messages = state.messages.slice();
		entries.#filled = state.filled;
		for (const position of state.untouched) {
			const entry = entries.#list[position] as SessionEntry;
			const own = Object.getOwnPropertyDescriptor(entry, "message");
			if (own?.get === undefined) {
				// Touched meanwhile.
				entries.#messages[position] = own?.value;
				continue;
			}
			Object.defineProperty(entry, "message", accessor(entries, position));
			entries.#untouched.add(position);
		}
		entries.#sync();
		return entries;
	}
}

/** The objects of a session at a moment. */
export interface CapturedEntries {
	readonly generation: number;
	readonly list: (SessionEntry | undefined)[];
	readonly messages: (AgentMessage | undefined)[];
	readonly untouched: ReadonlySet<number>;
	readonly filled: number;
}

/** Builds the message of an entry that is none itself. */
export type MessageBuilder = (kind: number, entry: SessionEntry) => AgentMessage;

export const Kinds = { MESSAGE, CUSTOM, BRANCH_SUMMARY, REMOTE_COMPACTION } as const;

/** An entry whose message is read when somebody touches it. */
function light(
	entries: Entries,
	position: number,
	id: string,
	parentId: string | null,
	timestamp: string,
): SessionMessageEntry {
	return {
		type: "message",
		id,
		parentId,
		timestamp,
		get message(): AgentMessage {
			return touch(entries, this, position);
		},
		set message(message: AgentMessage) {
			entries.settle(this, position, message);
		},
	};
}

function accessor(entries: Entries, position: number): PropertyDescriptor {
	return {
		get() {
			return touch(entries, this, position);
		},
		set(message) {
			entries.settle(this, position, message);
		},
		enumerable: true,
		configurable: true,
	};
}

function touch(entries: Entries, entry: object, position: number): AgentMessage {
	const message = entries.touch(entry, position);
	if (message === undefined) {
		throw new LeaflogError("the entry is not in the session any more", { code: "ENTRY_NOT_FOUND" });
	}
	return message;
}
