/**
 * Runs a method whose promise somebody may not wait for. A rejection then does not end the process:
 * a failure of writing stays in force and is logged besides.
 */
export function handled<T>(run: () => Promise<T>): Promise<T> {
	const promise = run();
	promise.catch(() => {});
	return promise;
}
