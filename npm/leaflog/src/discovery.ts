import * as fs from "node:fs";
import { count, effective, type LeaflogOptions, nativeOptions } from "./config";
import { fromReason, type LeaflogError } from "./errors";
import { native, type StorageHandle } from "./native";
import { isNative, type SessionStorage } from "./storage";
import type { SessionInfo } from "./types";

export interface ListOptions extends LeaflogOptions {
	/** Is told now and then how many files of how many are done. What it throws stops the listing. */
	onProgress?: (done: number, total: number) => void;
	/**
	 * Is told of what could not be read, is not a session, or is a symbolic link that is not followed, once the listing is
	 * done: each with its path.
	 */
	onProblem?: (problem: LeaflogError) => void;
	/** Stops the listing. */
	signal?: AbortSignal;
}

/** A session that was worked on lately. */
export interface RecentSessionInfo {
	path: string;
	/** Milliseconds since 1970. */
	mtime: number;
	/** Its title, else the first text of a user, else its id, else the name of its file: one line. */
	fullName: string;
	/** The same, cut to 40 units. */
	name: string;
	/** How long ago, in words. */
	readonly timeAgo: string;
}

export interface ResolvedSessionMatch {
	session: SessionInfo;
	scope: "local" | "global";
}

interface NativeInfo {
	path: string;
	id: string;
	cwd: string;
	title: string | null;
	parentSessionPath: string | null;
	created: number | null;
	modified: number;
	messageCount: number;
	firstMessage: string;
	projectGone: boolean;
}

/** How often a listing is asked how far it is, in milliseconds. */
const OFTEN = 25;

/** The sessions of a project, or of all, the newest first. */
export async function list(
	cwd: string | undefined,
	sessionDir: string | undefined,
	storage: SessionStorage | undefined,
	listOptions: ListOptions | undefined,
): Promise<SessionInfo[]> {
	const { onProgress, onProblem, signal, ...rest } = listOptions ?? {};
	signal?.throwIfAborted();
	const options = effective(rest);
	const given = nativeOptions(options, sessionDir);
	const place = await readable(storage, () => native.sessionFolders(cwd, given));
	const progress = native.progressNew();
	const listing = native.list(cwd, given, place, progress);
	let thrown: { error: unknown } | undefined;
	const tell = () => {
		const [done, total] = native.progressGet(progress);
		try {
			if (thrown === undefined) onProgress?.(done, total);
		} catch (error) {
			thrown = { error };
			native.progressStop(progress);
		}
	};
	const stop = () => native.progressStop(progress);
	const timer = onProgress && setInterval(tell, OFTEN);
	signal?.addEventListener("abort", stop);
	try {
		const { sessions, problems } = JSON.parse(await listing) as { sessions: NativeInfo[]; problems: string[] };
		tell();
		if (thrown !== undefined) throw thrown.error;
		signal?.throwIfAborted();
		if (onProblem !== undefined) for (const reason of problems) onProblem(fromReason(reason) as LeaflogError);
		return sessions.map((session) => info(session, place));
	} finally {
		clearInterval(timer);
		signal?.removeEventListener("abort", stop);
	}
}

/** The session of a project to go on with. */
export async function mostRecentOf(
	cwd: string,
	sessionDir: string | undefined,
	storage: SessionStorage | undefined,
	given: LeaflogOptions | undefined,
): Promise<string | undefined> {
	const options = nativeOptions(effective(given), sessionDir);
	const place = await readable(storage, () => native.sessionFolders(cwd, options));
	return (JSON.parse(await native.mostRecentOf(cwd, options, place)) as string | null) ?? undefined;
}

/** The latest sessions in a folder, the newest first. */
export async function getRecentSessions(
	sessionDir: string,
	limit = 3,
	storage?: SessionStorage,
): Promise<RecentSessionInfo[]> {
	const place = await readable(storage, () => [sessionDir]);
	const options = nativeOptions(effective(undefined), undefined);
	const found = await native.recentSessions(sessionDir, count(limit), options, place);
	return (JSON.parse(found) as Omit<RecentSessionInfo, "timeAgo">[]).map((session) => ({
		...session,
		get timeAgo() {
			return native.timeAgo(session.mtime);
		},
	}));
}

/** The newest session in a folder; `null` when there is none. */
export async function findMostRecentSession(sessionDir: string, storage?: SessionStorage): Promise<string | null> {
	const [session] = await getRecentSessions(sessionDir, 1, storage);
	return session?.path ?? null;
}

/**
 * The session that an argument means, by the beginning of its id or of its file's name: one of the
 * project, else, unless a folder is given, one of all.
 */
export async function resolveResumableSession(
	sessionArg: string,
	cwd: string,
	sessionDir?: string,
	storage?: SessionStorage,
	given?: LeaflogOptions,
): Promise<ResolvedSessionMatch | undefined> {
	const options = nativeOptions(effective(given), sessionDir);
	const folders = () => [
		...native.sessionFolders(cwd, options),
		...(sessionDir === undefined ? native.sessionFolders(undefined, options) : []),
	];
	const place = await readable(storage, folders);
	const found = await native.resolveSession(sessionArg, cwd, options, place);
	const match = JSON.parse(found) as { session: NativeInfo; scope: "local" | "global" } | null;
	return match === null ? undefined : { session: info(match.session, place), scope: match.scope };
}

/** A storage that native code can look through: of one of the caller's own a copy of what there is in folders. */
async function readable(storage: SessionStorage | undefined, dirs: () => string[]): Promise<StorageHandle | undefined> {
	if (storage === undefined || isNative(storage)) return storage?.handle;
	const copy = native.memoryNew();
	for (const dir of new Set(dirs())) {
		for (const file of storage.listFilesSync(dir, "*.jsonl")) {
			try {
				const { mtimeMs } = storage.statSync(file);
				native.memoryPut(copy, file, await storage.readText(file), mtimeMs);
			} catch {
				// A file that cannot be read costs itself only.
			}
		}
	}
	return copy;
}

function info(session: NativeInfo, storage: StorageHandle | undefined): SessionInfo {
	const { path: file, id, cwd, title, parentSessionPath, created, modified, messageCount, firstMessage } = session;
	const { projectGone } = session;
	let text: string | undefined;
	return {
		path: file,
		id,
		cwd,
		title: title ?? undefined,
		parentSessionPath: parentSessionPath ?? undefined,
		created: new Date(created ?? Number.NaN),
		modified: new Date(modified),
		messageCount,
		firstMessage: firstMessage || "(no messages)",
		/** As large as the session's texts are: read when somebody searches in it. */
		get allMessagesText() {
			text ??= textOf(file, storage);
			return text;
		},
		...(projectGone && { projectGone }),
	};
}

function textOf(file: string, storage: StorageHandle | undefined): string {
	if (storage === undefined && !fs.existsSync(file)) return "";
	return JSON.parse(native.allMessagesText(file, storage)) as string;
}
