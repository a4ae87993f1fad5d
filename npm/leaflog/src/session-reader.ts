import type { ContextPlan, Entries } from "./entries";
import { buildMessage } from "./messages";
import { type Handle, native } from "./native";
import { buildTree } from "./tree";
import type {
	LoadReport,
	SessionContext,
	SessionEntry,
	SessionHeader,
	SessionTreeNode,
	TitleSource,
	UsageStatistics,
} from "./types";

/** What is read of a session. */
export interface Readable {
	readonly handle: Handle;
	readonly entries: Entries;
	/** The same object until another session is here. */
	readonly header: SessionHeader;
	/** The same. */
	readonly usage: UsageStatistics;
}

/** The methods that a session has whether it is worked on or only looked at. */
export abstract class SessionReader {
	readonly #session: Readable;

	/** @internal */
	protected constructor(session: Readable) {
		this.#session = session;
	}

	getSessionName(): string | undefined {
		return native.title(this.#session.handle) ?? undefined;
	}

	get titleSource(): TitleSource | undefined {
		return (native.titleSource(this.#session.handle) as TitleSource | null) ?? undefined;
	}

	getHeader(): SessionHeader | null {
		return this.#session.header;
	}

	/** All entries, without the header, in the order of the file. */
	getEntries(): SessionEntry[] {
		return this.#session.entries.all();
	}

	getEntry(id: string): SessionEntry | undefined {
		return isId(id) ? this.#session.entries.get(id) : undefined;
	}

	/** The entries that hang on one, in the order of the file. */
	getChildren(parentId: string): SessionEntry[] {
		if (!isId(parentId)) return [];
		return this.#session.entries.many(JSON.parse(native.children(this.#session.handle, parentId)) as number[]);
	}

	getLeafId(): string | null {
		return this.#session.entries.leaf()?.id ?? null;
	}

	getLeafEntry(): SessionEntry | undefined {
		return this.#session.entries.leaf();
	}

	/** The path from the root to an entry, by default the leaf. */
	getBranch(fromId?: string): SessionEntry[] {
		if (!isId(fromId ?? "")) return [];
		return this.#session.entries.many(JSON.parse(native.path(this.#session.handle, fromId)) as number[]);
	}

	/** The roots, each with what hangs on it. */
	getTree(): SessionTreeNode[] {
		return buildTree(this.#session.handle, this.#session.entries);
	}

	getLabel(id: string): string | undefined {
		return isId(id) ? (native.label(this.#session.handle, id) ?? undefined) : undefined;
	}

	/** The rules injected on the leaf's path. */
	getInjectedTtsrRules(): string[] {
		return (JSON.parse(native.context(this.#session.handle)) as ContextPlan).state.injectedTtsrRules;
	}

	/** What the model is sent from the leaf. Its messages are the entries' own objects. */
	buildSessionContext(): SessionContext {
		return this.#session.entries.context(JSON.parse(native.context(this.#session.handle)) as ContextPlan, buildMessage);
	}

	/** The sums over all branches: the same object, kept up to date, until another session is here. */
	getUsageStatistics(): UsageStatistics {
		return this.#session.usage;
	}

	/** What was noticed while reading the session. */
	getLoadReport(): LoadReport {
		return JSON.parse(native.report(this.#session.handle)) as LoadReport;
	}
}

/** Anything else is the id of no entry, to those that look for one. */
function isId(id: unknown): boolean {
	return typeof id === "string";
}
