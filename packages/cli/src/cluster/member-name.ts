/** A member in the words of the operator: `eu`, or `eu/a`. */
export function nameOf({ region, member }: { readonly region: string; readonly member?: string | undefined }): string {
  return member === undefined ? region : `${region}/${member}`;
}
