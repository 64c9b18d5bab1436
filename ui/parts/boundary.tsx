import { Component, type ReactNode } from 'react';

interface BoundaryParts {
  /** The part, in a sentence that begins with it. */
  readonly name: string;
  /** Nothing else stands beside it. */
  readonly isScreen?: true;
  readonly children: ReactNode;
}
interface Broken {
  readonly error: unknown;
}

/**
 * Keeps what goes wrong in a part of the page within that part: an answer of a server of another version may lack what the part
 * shows, and a file of the page may be gone when the server was replaced.
 */
export class Boundary extends Component<BoundaryParts, Broken | object> {
  override state: Broken | object = {};

  static getDerivedStateFromError(error: unknown): Broken {
    return { error };
  }

  override render(): ReactNode {
    if (!('error' in this.state)) return this.props.children;
    const { error } = this.state;
    const isFile = error instanceof TypeError && /import|module/i.test(error.message);
    return (
      <div role="alert" className="problem">
        {this.props.isScreen === true && <h1>jobctl</h1>}
        <p>
          {isFile
            ? `${this.props.name} could not be loaded: the server may have another version now.`
            : `${this.props.name} cannot be shown: the server’s answer has another form than this page knows.`}
        </p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load the page again
          </button>
        </p>
      </div>
    );
  }
}
