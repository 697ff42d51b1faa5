import { count, duration } from '../format.js';
import { Panel } from '../parts/tile.js';
import { regions } from '../regions.js';

export function Quotas() {
  const known = [...regions.value.values()].find((region) => region.snapshot?.quotas != null)?.snapshot?.quotas ?? [];
  return (
    <Panel title="Quotas">
      {known.length === 0 ? (
        <p class="note">
          No quota is defined. <code>QUOTA.DEFINE name LIMIT n WINDOW ms</code> makes one.
        </p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th class="number">Limit</th>
                <th class="number">Window</th>
                <th>Allocator</th>
              </tr>
            </thead>
            <tbody>
              {known.map((quota) => (
                <tr key={quota.name}>
                  <th scope="row">{quota.name}</th>
                  <td class="number">{count(quota.limit)}</td>
                  <td class="number">{quota.windowMs === 0 ? 'none' : duration(quota.windowMs / 1000)}</td>
                  <td>{quota.allocator}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
