// One session.
import { useTitle } from "../parts/title";

export function SessionView({ id }: { id: string }) {
  useTitle("Session");
  return <div className="view">{id}</div>;
}
