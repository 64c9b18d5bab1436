/** Prints the token of the VM's service account; nothing where it has none. Of the runner, and of the program that stores outputs. */
export const VM_TOKEN = `
vm_token() {
  curl --disable --silent --fail --noproxy '*' --connect-timeout 2 --max-time 4 --header 'Metadata-Flavor: Google' \\
    "http://\${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/service-accounts/default/token" |
    sed -n 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/p'
}
`;
